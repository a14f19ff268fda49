#!/bin/bash
# Asks a Prometheus that scrapes operator and sidecars for what each panel of the dashboard shows:
#   charts/check/dashboard.sh http://127.0.0.1:9090
# Prints each query's series and one value; ends with 1 when a panel has nothing to show.
set -euo pipefail
cd "$(dirname "$0")/../proxyunwrap"

empty=0

main() {
  (($# == 1)) || { echo "usage: $0 URL-OF-PROMETHEUS" >&2; exit 2; }
  local title expression found
  while IFS=$'\t' read -r title expression; do
    found=$(query "$1" "$expression")
    printf '%4s series  %-32s %s\n' "${found%% *}" "$title" "${found#* }"
    [[ ${found%% *} != 0 ]] || empty=$((empty + 1))
  done < <(queries)
  ((empty == 0)) || { echo "dashboard.sh: $empty queries without an answer" >&2; exit 1; }
}

# As Grafana would ask with everything chosen.
queries() {
  jq --raw-output '.panels[] | .title as $title | .targets[]? | [$title, .expr] | @tsv' dashboards/proxyunwrap.json |
    sed -e 's/\$__rate_interval/1m/g' -e 's/\$\(namespace\|pod\)/.*/g'
}

# query URL EXPRESSION: number of series, and one of them.
query() {
  local answer
  answer=$(curl --silent --show-error --get --data-urlencode "query=$2" "$1/api/v1/query")
  jq --raw-output 'if .status == "success" then .data.result | "\(length) \(.[0] // {} | (.metric // {} | del(.__name__) | tostring) + " " + (.value[1]? // ""))"
    else "0 \(.error)" end' <<<"$answer"
}

main "$@"
