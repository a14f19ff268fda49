#!/bin/bash
# What only a real Prometheus can say: does each panel of the dashboard show something, of a real operator and a
# real sidecar? Needs prometheus, jq, curl, and kubectl with a cluster on which the chart is installed as
# `make cluster-install` does it. Works in a namespace of its own, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/../.."

NAMESPACE=monitoring-check-$$
URL=http://127.0.0.1:19090
PATIENCE=60

main() {
  work=$(mktemp -d)
  trap clean_up EXIT
  kubectl create namespace "$NAMESPACE" >/dev/null
  until_true "its service account" kubectl --namespace "$NAMESPACE" get serviceaccount default
  # Pods are reviewed once the API server reaches the operator's Service, a moment after its pod is ready.
  until_true "the operator's review of a pod" is_injected
  app | kubectl --namespace "$NAMESPACE" apply --filename - >/dev/null
  kubectl --namespace "$NAMESPACE" wait --for condition=Ready pod/app --timeout="${PATIENCE}s" >/dev/null

  configuration >"$work/prometheus.yml"
  prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
    --web.listen-address="${URL#http://}" --log.level=error &
  prometheus=$!
  until_true "an answer of Prometheus" curl --silent --fail "$URL/-/ready"
  # A rate has two ends.
  until_true "several scrapes of both" both_are_scraped
  charts/check/dashboard.sh "$URL"
}

clean_up() {
  if [[ -n ${prometheus-} ]]; then
    kill "$prometheus" 2>/dev/null && wait "$prometheus" || true
  fi
  kubectl delete namespace "$NAMESPACE" --ignore-not-found --wait=false >/dev/null
  rm -rf "$work"
}

app() {
  cat <<-END
	apiVersion: v1
	kind: Pod
	metadata: {name: app, annotations: {proxyunwrap.dev/ports: "8080"}}
	spec:
	  containers:
	  - {name: app, image: localhost/testapp:dev, imagePullPolicy: Never, args: [echo, --tcp, "0.0.0.0:8080"]}
	END
}

# Nothing is stored.
is_injected() {
  local answer='{.metadata.labels.proxyunwrap\.dev/injected}'
  [[ $(app | kubectl --namespace "$NAMESPACE" create --dry-run=server --output jsonpath="$answer" --filename -) == true ]]
}

configuration() {
  cat <<-END
	global: {scrape_interval: 1s}
	scrape_configs:
	- job_name: operator
	  static_configs: [{targets: ["$(address proxyunwrap-system app.kubernetes.io/component=operator):8080"]}]
	- job_name: sidecars
	  static_configs: [{targets: ["$(address "$NAMESPACE" proxyunwrap.dev/injected=true):15090"]}]
	  relabel_configs: [{target_label: namespace, replacement: "$NAMESPACE"}, {target_label: pod, replacement: app}]
	END
}

# address NAMESPACE LABEL: of the first pod.
address() {
  kubectl --namespace "$1" get pods --selector "$2" --output jsonpath='{.items[0].status.podIP}'
}

both_are_scraped() {
  local found
  found=$(curl --silent --get --data-urlencode 'query=count(count_over_time(up[1m]) > 3 and up == 1)' "$URL/api/v1/query")
  [[ $(jq --raw-output '.data.result[0].value[1]' <<<"$found") == 2 ]]
}

# until_true WHAT COMMAND...: waits for a condition.
until_true() {
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || give_up "$what"
    sleep 0.5
  done
}

give_up() {
  echo "monitoring.sh: gave up waiting for $1; the operator says:" >&2
  kubectl --namespace proxyunwrap-system logs --selector app.kubernetes.io/component=operator --tail=30 >&2
  exit 1
}

main
