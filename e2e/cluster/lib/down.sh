# shellcheck shell=bash
# The end: pid 1 of the node dies, and the kernel ends what is in its namespaces, which is every
# process, mount, link and rule. The cgroup folders are all that we remove by hand.

down() {
  local pid parent left
  require_root
  if pid=$(node_pid); then
    parent=$(awk '{ print $4 }' "/proc/$pid/stat")
    kill -KILL "$pid"
    await_reaped "$parent"
  else
    echo "the cluster was not up"
  fi
  await_processes_end
  remove_cgroups
  left=$(left_behind)
  if [[ -n $left ]]; then
    echo "$left" >&2
    fail "this is left behind; end the processes named, then call \`cluster down\` again"
  fi
  remove_state
  echo "down: no process, mount, cgroup, link or namespace is left"
}

# The parent of pid 1 ends with it, and is then the machine's to reap. A second at most: a
# container whose own pid 1 reaps nobody keeps the zombie.
await_reaped() {
  local _
  for _ in {1..10}; do
    [[ -d /proc/$1 ]] || return 0
    sleep 0.1
  done
}

# Ten seconds at most: a process may be in the middle of a write to disk.
await_processes_end() {
  local _
  for _ in {1..100}; do
    [[ -n $(processes_left) ]] || return 0
    sleep 0.1
  done
}

# A line for each thing.
left_behind() {
  local pid
  for pid in $(processes_left); do
    echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
  done
  namespaces_held | sed 's/^/namespace held by a mount: /'
  # /proc/mounts writes a blank as \040.
  awk -v folder="${STATE// /\\\\040}/" 'index($2, folder) == 1 { print "mount " $2 }' /proc/mounts
  cgroup_folders | sed 's/^/cgroup /'
  ip -oneline link | awk -F '[ :@]+' -v names="$NOWHERE $NOWHERE-peer $BRIDGE" \
    'index(" " names " ", " " $2 " ") { print "link " $2 }'
}

# Those in one of the node's namespaces, and those in our cgroups.
processes_left() {
  local namespace tests=() folders
  [[ ! -f $STATE/namespaces ]] || while read -r namespace; do
    namespace=${namespace//[/\\[}
    tests+=(-o -lname "${namespace//]/\\]}")
  done <"$STATE/namespaces"
  mapfile -t folders < <(cgroup_folders)
  {
    ((${#tests[@]} == 0)) || find /proc/[0-9]*/ns "${tests[@]:1}" 2>/dev/null | cut -d / -f 3
    ((${#folders[@]} == 0)) || find "${folders[@]}" -name cgroup.procs -exec cat {} + 2>/dev/null
  } | sort -nu
}

# A namespace can live on without a process, under a mount. With it would live its links and rules.
namespaces_held() {
  [[ ! -f $STATE/namespaces ]] || awk 'NR == FNR { ours[$1]; next } $4 in ours { print $4, $5 }' \
    "$STATE/namespaces" /proc/self/mountinfo
}

# The logs stay, to read after a failure.
remove_state() {
  find "$STATE" -mindepth 1 -maxdepth 1 ! -name log -exec rm -rf --one-file-system {} + 2>/dev/null || true
}
