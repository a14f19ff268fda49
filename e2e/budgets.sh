#!/bin/bash
# Budgets of the shipped dataplane: size of its binary, crates in its tree, time to listening.
#   e2e/budgets.sh target/release/proxyunwrap-dataplane
set -euo pipefail

MAX_BYTES=$((6 * 1000 * 1000))
MAX_CRATES=89
MAX_START_MS=50

binary=$(realpath "${1:?usage: budgets.sh BINARY}")
folder=$(mktemp -d)
server=
trap 'stop; rm -rf "$folder"' EXIT

main() {
  local bytes crates start
  bytes=$(stat -c %s "$binary")
  crates=$(tree)
  start=$(best_start)
  within "bytes of the stripped binary" "$bytes" "$MAX_BYTES"
  within "crates in the normal dependency tree" "$crates" "$MAX_CRATES"
  within "milliseconds from start to listening, best of 9" "$start" "$MAX_START_MS"
}

within() {
  echo "$2 $1 (at most $3)"
  if (($2 > $3)); then
    echo "budgets.sh: over budget" >&2
    exit 1
  fi
}

tree() {
  cargo tree --locked -p proxyunwrap-dataplane -e normal --prefix none --target x86_64-unknown-linux-gnu |
    sed 's/ (\*)$//' | sort -u | wc -l
}

stop() {
  if [[ -n $server ]]; then
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
  fi
}

# The port is taken from the kernel's own look-out: it answers connect() once the server listens.
start_once() {
  local begin end
  begin=$(date +%s%N)
  "$binary" -l 127.0.0.1:15999 -4 127.0.0.1:15998 --allowed-subnets "$folder/networks" 2>/dev/null &
  server=$!
  until (exec 3<>/dev/tcp/127.0.0.1/15999) 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || { echo "budgets.sh: the dataplane ended" >&2; exit 1; }
  done
  end=$(date +%s%N)
  stop
  echo $(((end - begin) / 1000000))
}

# The best: a busy machine makes a start later, never sooner.
best_start() {
  echo 10.0.0.0/8 >"$folder/networks"
  for _ in 1 2 3 4 5 6 7 8 9; do start_once; done | sort -n | head -n 1
}

main
