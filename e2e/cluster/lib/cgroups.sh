# shellcheck shell=bash
# A folder of ours in the machine's cgroups, for v1, hybrid and pure v2; gone after `down`.
#
# v1 and hybrid: /proxyunwrap-cluster in every hierarchy is the kubelet's root for pods.
# v2: /proxyunwrap-cluster is the root of the node's own cgroup namespace, with daemons/ for its
# programs and pods/ for the kubelet. In the namespace, because runc turns on every controller in
# the root that it sees, which must not be the machine's.

CONTROLLERS_NEEDED=(cpu cpuset memory pids)

# v2, hybrid, v1 or none: the layout as kubelet, containerd and runc see it.
cgroup_layout() {
  if [[ $(stat -f -c %T /sys/fs/cgroup 2>/dev/null) == cgroup2fs ]]; then
    echo v2
  elif [[ -z $(hierarchies cgroup) ]]; then
    echo none
  elif [[ -n $(hierarchies cgroup2) ]]; then
    echo hybrid
  else
    echo v1
  fi
}

# Where hierarchies of a type (cgroup, which is v1, or cgroup2) are mounted.
hierarchies() {
  awk -v type="$1" '$3 == type { print $2 }' /proc/mounts
}

require_cgroups() {
  local controller missing=()
  [[ $(cgroup_layout) != none ]] ||
    fail "no cgroups are mounted: mount -t cgroup2 cgroup2 /sys/fs/cgroup"
  for controller in "${CONTROLLERS_NEEDED[@]}"; do
    has_controller "$controller" || missing+=("$controller")
  done
  ((${#missing[@]} == 0)) ||
    fail "cgroup controllers are missing: ${missing[*]}; the kernel needs them (cgroup_enable= on its command line), and a container they must be delegated to"
}

has_controller() {
  if [[ $(cgroup_layout) == v2 ]]; then
    grep -qw "$1" /sys/fs/cgroup/cgroup.controllers
  else
    [[ -d /sys/fs/cgroup/$1 ]]
  fi
}

# pods_cgroup is the kubelet's cgroupRoot, as the node sees it.
pods_cgroup() {
  if [[ $(cgroup_layout) == v2 ]]; then echo /pods; else echo "/$CGROUP"; fi
}

make_cgroups() {
  local hierarchy file
  if [[ $(cgroup_layout) == v2 ]]; then
    delegate_controllers
    mkdir -p "/sys/fs/cgroup/$CGROUP/daemons"
    return
  fi
  for hierarchy in $(hierarchies cgroup); do
    mkdir -p "$hierarchy/$CGROUP"
    for file in cpuset.cpus cpuset.mems; do # empty in a new folder of v1, and then it takes no process
      [[ ! -f $hierarchy/$file ]] || cat "$hierarchy/$file" >"$hierarchy/$CGROUP/$file"
    done
  done
}

# What was not turned on in the machine's root before is noted, and turned off by remove_cgroups.
delegate_controllers() {
  local controller root=/sys/fs/cgroup
  for controller in "${CONTROLLERS_NEEDED[@]}" io; do
    if has_controller "$controller" && ! grep -qw "$controller" $root/cgroup.subtree_control; then
      { echo "+$controller" >$root/cgroup.subtree_control; } 2>/dev/null ||
        fail "cannot delegate the cgroup controller $controller: in a container, run it with --privileged --cgroupns=host; with real-time processes, end them"
      echo "$controller" >>"$STATE/delegated"
    fi
  done
}

# Runs a command as the first of the node, in its cgroup and, with v2, in a new cgroup namespace.
exec_in_cgroup() {
  if [[ $(cgroup_layout) != v2 ]]; then
    exec "$@"
  fi
  echo "$BASHPID" >"/sys/fs/cgroup/$CGROUP/cgroup.procs" # the namespace's root is where its maker is
  # shellcheck disable=SC2016 # expanded by the inner shell
  exec unshare --cgroup bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "/sys/fs/cgroup/$CGROUP/daemons" "$@"
}

# A folder can go once the kernel has let go of its last process, which takes moments.
remove_cgroups() {
  local folders controller _
  for _ in {1..50}; do
    mapfile -t folders < <(cgroup_folders)
    ((${#folders[@]} > 0)) || break
    find "${folders[@]}" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
  done
  [[ -f $STATE/delegated ]] || return 0
  while read -r controller; do # one that another has come to use since cannot be taken back
    { echo "-$controller" >/sys/fs/cgroup/cgroup.subtree_control; } 2>/dev/null || true
  done <"$STATE/delegated"
  rm "$STATE/delegated"
}

# runc makes a folder in a hybrid's cgroup2 as well, so all hierarchies are looked at.
cgroup_folders() {
  local hierarchy
  for hierarchy in $(hierarchies cgroup) $(hierarchies cgroup2); do
    [[ ! -d $hierarchy/$CGROUP ]] || echo "$hierarchy/$CGROUP"
  done
}
