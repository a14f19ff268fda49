#!/bin/bash
# Budgets in system calls of a short connection (connect, header, 6 bytes, echo, close), which strace counts
# for each engine. Neither the machine nor its other work changes them much: how many events a wait
# brings does. Ends with 1 when one is over its budget. Needs root, and the benchmark's build.
#   e2e/calls.sh BENCH DATAPLANE
set -euo pipefail
cd "$(dirname "$0")/.."

# engine, and tenths of a call at most: what was counted when it was last changed on purpose, and three calls.
BUDGETS='
epoll     215
io_uring  175
'

main() {
  local engine most each over=0
  results=$(mktemp -d)
  trap 'rm -rf "$results"' EXIT
  "$1" --dataplane "$2" --contenders proxyunwrap --only connect --rounds 1 --seconds 0.1 --patience 0 \
    --docs "$results" --raw "$results/raw.json" >"$results/log" 2>&1 || { cat "$results/log" >&2; exit 1; }
  while read -r engine most; do
    [[ -n $engine ]] || continue
    each=$(jq --arg name "proxyunwrap-$engine" '.calls[$name].each * 10 | round' "$results/raw.json")
    echo "$((each / 10)).$((each % 10)) system calls for a short connection with $engine (at most $((most / 10)).$((most % 10)))"
    ((each <= most)) || over=1
  done <<<"$BUDGETS"
  ((over == 0)) || { echo "calls.sh: over budget" >&2; exit 1; }
}

main "$@"
