#!/bin/bash
# What can be said of the chart without a cluster; needs helm 4, promtool, jq and cargo. `make chart-check` calls it.
set -euo pipefail
cd "$(dirname "$0")/../.."

CHART=charts/proxyunwrap
PEERS='trustedPeers={10.0.0.0/8}'
failures=0

main() {
  local program
  for program in helm promtool jq cargo; do
    command -v "$program" >/dev/null || { echo "chart.sh: no $program on the PATH: make chart-check brings it" >&2; exit 1; }
  done
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT

  echo "helm lint --strict"
  local values
  for values in "$CHART"/ci/*.yaml; do
    holds "${values##*/}" lint --values "$values"
  done
  holds values-ha.yaml lint --values "$CHART/values-ha.yaml" --set "$PEERS"

  echo "what is misspelt, missing or out of bounds is refused, and named"
  refused "give at least one network"
  refused "replicas" --set "$PEERS" --set replicas=2
  refused "failurePolice" --set "$PEERS" --set webhook.failurePolice=Fail
  refused "tags" --set "$PEERS" --set dataplane.image.tags=v1
  refused "enable" --set "$PEERS" --set metrics.podMonitor.enable=true
  refused "everybody" --set 'trustedPeers={everybody}'
  refused "failurePolicy" --set "$PEERS" --set webhook.failurePolicy=Maybe

  echo "settings"
  for values in "$CHART"/ci/*.yaml; do
    holds "the operator takes those of ${values##*/}" settings_are_good --values "$values"
  done
  holds "each field of operator/src/settings.rs can be set" settings_are_complete

  echo "alerts and dashboard"
  holds "the alerts' syntax" promtool check rules --lint=all --lint-fatal "$CHART/alerts/proxyunwrap.yaml"
  holds "the alerts fire when they should" promtool test rules charts/check/alerts.yaml
  dashboard_as_rules >"$work/dashboard.json"
  holds "the dashboard's queries" promtool check rules --lint=none "$work/dashboard.json"
  holds "every series is one of docs/metrics.md" series_are_documented
  holds "every alert has its place in docs/troubleshooting.md" alerts_have_runbooks

  echo "copies"
  holds "the chart's definitions are those of crds/" diff -r --exclude README.md crds "$CHART/files/crds"
  holds "charts/install.yaml" charts/install.sh --check
  ((failures == 0)) || { echo "chart.sh: $failures of these did not hold" >&2; exit 1; }
}

# holds TEXT COMMAND...: shows what a command says when it fails.
holds() {
  local text=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "  ✔ $text"
  else
    echo "  ✘ $text"
    sed 's/^/    /' "$work/said"
    failures=$((failures + 1))
  fi
}

lint() { helm lint --strict --kube-version 1.33.0 "$CHART" "$@"; }

# refused WORD HELM_OPTIONS...: the refusal holds the word.
refused() { holds "$1" refusal_names "$@"; }

refusal_names() {
  local word=$1
  shift
  if helm template check "$CHART" --kube-version 1.33.0 "$@" >"$work/rendered" 2>"$work/refusal"; then
    echo "it was accepted"
    return 1
  fi
  grep -F -- "$word" "$work/refusal" || { cat "$work/refusal"; return 1; }
}

settings_are_good() {
  helm template check "$CHART" --kube-version 1.33.0 --namespace proxyunwrap --show-only templates/configmap.yaml "$@" |
    sed -n '/config.yaml: |/,$ s/^    //p' >"$work/settings.yaml"
  operator check-config "$work/settings.yaml"
}

operator() { cargo run --quiet --locked -p proxyunwrap-operator -- "$@"; }

settings_are_complete() {
  local field missing=0
  for field in $(sed -nE 's/^    pub ([a-z_]+): .*/\1/p' operator/src/settings.rs | sed -E 's/_(.)/\u\1/g'); do
    grep -q "^ *$field:" "$CHART/templates/_settings.tpl" || { echo "templates/_settings.tpl lacks $field"; missing=1; }
  done
  return "$missing"
}

expressions() {
  jq --raw-output '.panels[].targets[]?.expr' "$CHART/dashboards/proxyunwrap.json" |
    sed -e 's/\$__rate_interval/1m/g' -e 's/\$\(namespace\|pod\)/.*/g'
}

# A rules file, as JSON is YAML: promtool parses the queries.
dashboard_as_rules() {
  expressions | jq --raw-input . | jq --slurp \
    '{groups: [{name: "dashboard", rules: [to_entries[] | {record: "panel:\(.key)", expr: .value}]}]}'
}

series_are_documented() {
  local name unknown=0
  while read -r name; do
    grep -qF "| \`$name\` |" docs/metrics.md || { echo "$name is not in docs/metrics.md"; unknown=1; }
  done < <({ expressions; sed -n '/expr:/,/for:\|labels:/p' "$CHART/alerts/proxyunwrap.yaml"; variables; } |
    grep -oE '\b(proxyunwrap|process)_[a-z_]+' | sed -E 's/_(bucket|sum|count)$//' | sort -u)
  return "$unknown"
}

variables() { jq --raw-output '.templating.list[].definition // empty' "$CHART/dashboards/proxyunwrap.json"; }

alerts_have_runbooks() {
  local name missing=0
  for name in $(sed -n 's/.*alert: //p' "$CHART/alerts/proxyunwrap.yaml"); do
    grep -qx "### $name" docs/troubleshooting.md || { echo "docs/troubleshooting.md has no heading ### $name"; missing=1; }
    grep -q "runbook_url: RUNBOOK#${name,,}\$" "$CHART/alerts/proxyunwrap.yaml" || { echo "$name leads elsewhere"; missing=1; }
  done
  return "$missing"
}

main
