# shellcheck shell=bash
# The end: pid 1 of the node dies, and the kernel ends what is in its namespaces, which is every
# process, mount, link and rule. The cgroup folders are all that we remove by hand.

down() {
  local pid left=
  require_root
  refuse_inside down
  if pid=$(node_pid); then
    end_node "$pid"
  else
    echo "the cluster was not up"
  fi
  remove_cgroups
  left+=${left:+$'\n'}$(left_on_machine)
  [[ -z $left ]] || fail "this is left behind: $left"
  remove_state
  echo "down: nothing is left"
}

# Adds what holds on to the node's namespaces to `left`.
end_node() {
  local pid=$1 parent
  parent=$(awk '{ print $4 }' "/proc/$pid/stat")
  # Held open while we look: the number of a namespace that is gone may be a stranger's at once.
  exec 4<"/proc/$pid/ns/net" 5<"/proc/$pid/ns/mnt" 6<"/proc/$pid/ns/pid"
  kill -KILL "$pid"
  await_gone 10 "$parent" # a container whose own pid 1 reaps nobody keeps it as a zombie
  for pid in $(processes_inside); do
    await_gone 100 "$pid" # it may be in the middle of a write to disk
  done
  left=$(left_inside)
  exec 4<&- 5<&- 6<&-
}

await_gone() { # TENTHS OF A SECOND, PID
  local tenths=$1
  while [[ -d /proc/$2 ]] && ((tenths-- > 0)); do
    sleep 0.1
  done
}

# A process or a mount, a line each. With such a namespace its links and rules would live on.
left_inside() {
  local pid
  for pid in $(processes_inside); do
    echo "process $pid: $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" || true)"
  done
  awk 'NR == FNR { ours[$1]; next } $4 in ours { print "namespace held by the mount " $5 }' \
    <(namespaces) /proc/self/mountinfo
}

processes_inside() {
  local namespace tests=()
  while read -r namespace; do
    namespace=${namespace/[/\\[}
    tests+=(-o -lname "${namespace/]/\\]}")
  done < <(namespaces)
  find /proc/[0-9]*/ns "${tests[@]:1}" 2>/dev/null | cut -d / -f 3 | sort -nu
}

namespaces() {
  readlink /proc/self/fd/{4,5,6}
}

left_on_machine() {
  # /proc/mounts writes a blank as \040.
  awk -v folder="${STATE// /\\\\040}/" 'index($2, folder) == 1 { print "mount " $2 }' /proc/mounts
  cgroup_folders | sed 's/^/cgroup /'
  ip -oneline link | awk -F '[ :@]+' -v names="$NOWHERE $NOWHERE-peer $BRIDGE" \
    'index(" " names " ", " " $2 " ") { print "link " $2 }'
}

# The logs stay, to read after a failure.
remove_state() {
  find "$STATE" -mindepth 1 -maxdepth 1 ! -name log -exec rm -rf --one-file-system {} + 2>/dev/null || true
}
