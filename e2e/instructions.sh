#!/bin/bash
# Budgets in instructions, which neither the machine nor its other work changes: what valgrind counts for N
# operations more, divided by N. Ends with 1 when one is over its budget.
#   e2e/instructions.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# name, and instructions at most: what was counted when it was last changed on purpose, and a tenth.
BUDGETS='
parse-v1    2000
parse-v2    320
trust       215
connection  3370
message     565
'
MANY=2000

main() {
  local name most program spent over=0
  program=$(build)
  while read -r name most; do
    [[ -n $name ]] || continue
    spent=$((($(count "$program" "$name" $((2 * MANY))) - $(count "$program" "$name" $MANY)) / MANY))
    echo "$spent instructions for $name (at most $most)"
    ((spent <= most)) || over=1
  done <<<"$BUDGETS"
  ((over == 0)) || { echo "instructions.sh: over budget" >&2; exit 1; }
}

# Prints where the program is.
build() {
  cargo bench --locked --quiet -p proxyunwrap-dataplane --bench operations --no-run --message-format=json |
    jq --raw-output 'select(.target.name? == "operations" and .executable) | .executable'
}

count() {
  valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$@" 2>&1 |
    sed -n 's/.*I *refs: *//p' | tr -d ,
}

main
