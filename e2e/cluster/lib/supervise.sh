# shellcheck shell=bash disable=SC2154 # node-init.sh sets STATE
# What pid 1 does with daemons: start them, say which ended, and stop or start one when asked to.
# Asked by a line in the pipe $STATE/requests; it is done once the line stands in $STATE/obeyed.

DAEMONS=() # names, by pid

start() {
  "$@" >>"$STATE/log/$1.log" 2>&1 &
  DAEMONS[$!]=$1
  echo "started $1: $!"
}

# While starting, a daemon that ends is the end of the node: `up` sees it at once.
require_daemons() {
  local pid
  for pid in "${!DAEMONS[@]}"; do
    kill -0 "$pid" 2>/dev/null || { echo "${DAEMONS[$pid]} ended while starting"; exit 1; }
  done
}

# As pid 1. A daemon that ended is not started again: a test should see it.
supervise() {
  local request
  exec 3<>"$STATE/requests" # for both, or the first writer to go would be the end of the file
  while :; do
    say_who_ended
    if read -r -t 1 -u 3 request; then
      obey "$request"
      echo "$request" >"$STATE/obeyed"
    fi
  done
}

# The shell reaps every child as it ends, orphans of the node as well, and keeps the codes of its own.
say_who_ended() {
  local pid code
  for pid in "${!DAEMONS[@]}"; do
    if ! kill -0 "$pid" 2>/dev/null; then
      code=0
      wait "$pid" || code=$?
      echo "$(date +%T) ${DAEMONS[$pid]} ended: $code"
      unset "DAEMONS[$pid]"
    fi
  done
}

obey() {
  case $1 in
    "restart-apiserver "*)
      stop kube-apiserver 1 # by itself it takes a minute, while anybody watches
      sleep "${1#* }" || true
      start_apiserver
      ;;
    start-kwok) is_running kwok || start_kwok ;;
    stop-kwok) stop kwok 5 ;;
    *) echo "no such request: $1" ;;
  esac
}

is_running() {
  [[ " ${DAEMONS[*]} " == *" $1 "* ]]
}

stop() { # NAME SECONDS: as long it may take to end by itself
  local pid tenths=${2}0
  for pid in "${!DAEMONS[@]}"; do
    [[ ${DAEMONS[$pid]} == "$1" ]] || continue
    unset "DAEMONS[$pid]"
    kill "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
      ((tenths-- > 0)) || kill -KILL "$pid" 2>/dev/null || true
      sleep 0.1
    done
    echo "stopped $1: $pid"
  done
}
