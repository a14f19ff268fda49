#!/bin/bash
# node-init.sh CACHE LAYOUT - pid 1 of the node: mounts and a network of its own, then every daemon.
# Started by `cluster up` alone, which knows the node again by this command line.
set -euEo pipefail
trap 'echo "ended at: $BASH_COMMAND"' ERR
FOLDER=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# shellcheck source-path=SCRIPTDIR source=settings.sh
source "$FOLDER/settings.sh"
STATE=$1/state PROGRAMS=$1/state/programs LAYOUT=$2
PKI=$STATE/pki KUBECONFIGS=$STATE/kubeconfig
export PATH=$PROGRAMS:/usr/sbin:/usr/bin:/sbin:/bin KUBECACHEDIR=$STATE/cache/kube
DAEMONS=() # names, by pid

main() {
  ulimit -n "$(ulimit -H -n)" # pods inherit it, and a login shell's 1024 is few
  mount_sys
  mount_private_folders
  cover_sysctls
  mount --make-rshared / # last: in a shared tree the umount of mount_sys would take the cgroups away
  make_network
  start_daemons
  watch_daemons
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

start_daemons() {
  start containerd --config "$STATE/conf/containerd.toml"
  start_etcd
  start_apiserver
  await_apiserver
  start_controller_manager
  start_scheduler
  start kubelet --config="$STATE/conf/kubelet.yaml" --kubeconfig="$KUBECONFIGS/node.yaml" \
    --hostname-override="$NODE" --node-ip="$NODE4,$NODE6"
  start kube-proxy --config="$STATE/conf/proxy.yaml"
  make_dns_objects
  start coredns -conf "$STATE/conf/Corefile"
}

start() {
  "$@" >"$STATE/log/$1.log" 2>&1 &
  DAEMONS[$!]=$1
  echo "started $1: $!"
}

start_etcd() {
  start etcd --data-dir="$STATE/etcd" --unsafe-no-fsync --log-level=warn \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
    --initial-cluster=default=http://127.0.0.1:2380
}

start_apiserver() {
  start kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=:: --secure-port=6443 \
    --advertise-address="$NODE4" --service-cluster-ip-range="$SERVICES4,$SERVICES6" \
    --client-ca-file="$PKI/ca.crt" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
    --kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$PKI/ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$PKI/front-proxy.crt" --proxy-client-key-file="$PKI/front-proxy.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/service-accounts.pub" \
    --service-account-signing-key-file="$PKI/service-accounts.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true --profiling=false
}

start_controller_manager() {
  local me=$KUBECONFIGS/controllers.yaml
  start kube-controller-manager --kubeconfig="$me" --authentication-kubeconfig="$me" --authorization-kubeconfig="$me" \
    --root-ca-file="$PKI/ca.crt" --service-account-private-key-file="$PKI/service-accounts.key" \
    --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
    --flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins --use-service-account-credentials=true \
    --leader-elect=false --bind-address=127.0.0.1
}

start_scheduler() {
  local me=$KUBECONFIGS/scheduler.yaml
  start kube-scheduler --kubeconfig="$me" --authentication-kubeconfig="$me" --authorization-kubeconfig="$me" \
    --leader-elect=false --bind-address=127.0.0.1
}

# With curl, which starts in a tenth of kubectl's time.
await_apiserver() {
  until curl --silent --fail --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" \
    https://127.0.0.1:6443/readyz >/dev/null 2>&1; do
    require_daemons
    sleep 0.1
  done
}

# kube-system comes a moment after the API server is ready.
make_dns_objects() {
  until kubectl --kubeconfig="$KUBECONFIGS/admin.yaml" apply --validate=false --filename="$STATE/conf/dns.yaml"; do
    require_daemons
    sleep 0.2
  done
}

# While starting, a daemon that ends is the end of the node: `up` sees it at once.
require_daemons() {
  local pid
  for pid in "${!DAEMONS[@]}"; do
    kill -0 "$pid" 2>/dev/null || { echo "${DAEMONS[$pid]} ended while starting"; exit 1; }
  done
}

# As pid 1: reap, and say which daemon ended. None is started again: a test should see it.
watch_daemons() {
  local pid code
  while :; do
    code=0
    wait -n -p pid "${!DAEMONS[@]}" || code=$?
    if [[ -z ${pid:-} ]]; then
      sleep 5 # every daemon has ended; the namespaces stay, to look inside
    else
      echo "$(date +%T) ${DAEMONS[$pid]} ended: $code"
      unset "DAEMONS[$pid]"
    fi
  done
}

main
