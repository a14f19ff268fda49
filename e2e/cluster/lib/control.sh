# shellcheck shell=bash
# What is asked of a cluster that is up: to restart the API server, to start and stop kwok.

restart-apiserver() {
  local down=${1:-0} begin=$EPOCHREALTIME
  require_root
  [[ $down =~ ^[0-9]{1,2}$ ]] || fail "restart-apiserver: how many seconds shall it stay down, from 0 to 99? not $down"
  require_up
  ask "restart-apiserver $down"
  until_true "the API server answers again" api_is_ready
  echo "API server restarted, ready after $(seconds_since "$begin") s"
}

api_is_ready() {
  inside kubectl get --raw /readyz
}

begin_kwok() {
  ask start-kwok
}

end_kwok() {
  ask stop-kwok
}

# Pid 1 of the node starts and stops daemons: they are its children, in its cgroup, with its limits.
ask() { # REQUEST
  local begin=$SECONDS
  exec 7>"$STATE/asking.lock"
  flock 7
  rm -f "$STATE/obeyed"
  echo "$1" >"$STATE/requests"
  until [[ -s $STATE/obeyed ]]; do
    node_pid >/dev/null || fail "the node has ended: all logs: $STATE/log"
    ((SECONDS - begin < PATIENCE + 100)) || fail "the node does not answer to: $1; see $STATE/log/node.log"
    sleep 0.05
  done
  exec 7>&-
}

until_true() { # WHAT COMMAND...
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >"$STATE/log/await.log" 2>&1; do
    ((SECONDS < end)) || fail "not reached: $what: $(<"$STATE/log/await.log")"
    sleep 0.1
  done
}
