#!/bin/bash
# node-init.sh CACHE LAYOUT - pid 1 of the node: mounts and a network of its own, then every daemon.
# Started by `cluster up` alone, which knows the node again by this command line.
set -euEo pipefail
trap 'echo "ended at: $BASH_COMMAND"' ERR
FOLDER=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# shellcheck source-path=SCRIPTDIR source=settings.sh
source "$FOLDER/settings.sh"
# shellcheck source-path=SCRIPTDIR source=fake.sh
source "$FOLDER/fake.sh" # its label
# shellcheck source-path=SCRIPTDIR source=daemons.sh
source "$FOLDER/daemons.sh"
# shellcheck source-path=SCRIPTDIR source=supervise.sh
source "$FOLDER/supervise.sh"
STATE=$1/state PROGRAMS=$1/state/programs LAYOUT=$2
PKI=$STATE/pki KUBECONFIGS=$STATE/kubeconfig
export PATH=$PROGRAMS:/usr/sbin:/usr/bin:/sbin:/bin KUBECACHEDIR=$STATE/cache/kube

main() {
  ulimit -n "$(ulimit -H -n)" # pods inherit it, and a login shell's 1024 is few
  mount_sys
  mount_private_folders
  cover_sysctls
  mount --make-rshared / # last: in a shared tree the umount of mount_sys would take the cgroups away
  make_network
  start_daemons
  supervise
}

# A /sys that shows this network namespace, with the cgroups below it.
mount_sys() {
  if [[ $LAYOUT == v2 ]]; then
    mount -t sysfs sysfs /sys
    mount -t cgroup2 cgroup2 /sys/fs/cgroup # its root is the root of our cgroup namespace
    mkdir -p /sys/fs/cgroup/pods
    delegate_within
    return
  fi
  mkdir -p "$STATE/cgroups"
  mount --rbind /sys/fs/cgroup "$STATE/cgroups"
  mount -t sysfs sysfs /sys
  mount --rbind "$STATE/cgroups" /sys/fs/cgroup
  umount --recursive --lazy "$STATE/cgroups"
}

# We are in daemons/, so that the root holds no process and may hand its controllers on.
delegate_within() {
  local controller
  for controller in $(</sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
  done
}

# Kubelet, containerd, CNI and others have fixed paths in these two.
mount_private_folders() {
  mount --bind "$STATE/var" /var
  mount -t tmpfs -o mode=755 tmpfs /run
}

# The kubelet sets these for the whole machine. Over each we put a file that holds what it wants,
# so it writes nothing.
cover_sysctls() {
  local setting file
  for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=$STATE/conf/sysctl.$(tr / . <<<"${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
  done
}

# A pair with both ends here is an interface that is up and leads nowhere. A default route over it
# is needed: the kernel asks for a route to a Service before kube-proxy's rules translate it.
make_network() {
  hostname "$NODE"
  ip link set lo up
  ip link add "$NOWHERE" type veth peer name "$NOWHERE-peer"
  ip addr add "$NODE4/24" dev "$NOWHERE"
  ip addr add "$NODE6/64" dev "$NOWHERE" nodad # usable at once
  ip link set "$NOWHERE" up
  ip link set "$NOWHERE-peer" up
  ip route add default dev "$NOWHERE"
  ip -6 route add default dev "$NOWHERE"
  echo 1 >/proc/sys/net/ipv4/ip_forward
  echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
}

main
