#!/bin/bash
# What only a real API server can say of the chart; needs helm, jq, and kubectl with a cluster that may be played with:
#   make cluster-up && e2e/cluster/cluster run charts/check/server.sh
# Works in a namespace of its own, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/../proxyunwrap"

NAMESPACE=chart-check-$$
RELEASE=check
NAME=$RELEASE-proxyunwrap
WEBHOOK=$NAME-webhook
failures=0

main() {
  work=$(mktemp -d)
  trap clean_up EXIT
  kubectl create namespace "$NAMESPACE" >/dev/null
  # The operator's own namespace may be restricted: what is not would warn, or be refused.
  kubectl label namespace "$NAMESPACE" pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null

  echo "each file of ci/ is accepted"
  local values
  for values in ci/*.yaml; do
    accepted "$values" --values "$values"
  done
  accepted values-ha.yaml --values values-ha.yaml --values ci/default-values.yaml

  who_is_asked
  upgrades_keep_what_the_operator_wrote
  ((failures == 0)) || { echo "server.sh: $failures of these did not hold" >&2; exit 1; }
}

clean_up() {
  helm uninstall "$RELEASE" --namespace "$NAMESPACE" >/dev/null 2>&1 || true
  kubectl delete mutatingwebhookconfiguration "$WEBHOOK" --ignore-not-found >/dev/null
  kubectl delete namespace "$NAMESPACE" $(namespaces_for_asking) --ignore-not-found --wait=false >/dev/null
  rm -rf "$work"
}

# check FOUND WANTED TEXT
check() {
  if [[ $1 == "$2" ]]; then
    echo "  ✔ $3"
  else
    echo "  ✘ $3: found ${1:-nothing}, wanted ${2:-nothing}"
    failures=$((failures + 1))
  fi
}

# accepted WHAT HELM_OPTIONS...: by admission and validation, as a dry run.
accepted() {
  local what=$1 said
  shift
  said=$(template "$@" | ours | without_accounts |
    kubectl apply --server-side --force-conflicts --dry-run=server --filename - 2>&1 || true)
  grep -q '^deployment' <<<"$said" || said="$said (and no Deployment)"
  check "$(grep -v ' serverside-applied (server dry run)$' <<<"$said")" "" "$what"
}

# For the oldest Kubernetes that the chart admits.
template() {
  helm template "$RELEASE" . --namespace "$NAMESPACE" --kube-version 1.33.0 "$@"
}

# Kinds of the Prometheus operator and of cert-manager are not known here.
ours() {
  awk 'BEGIN { RS = "---\n"; ORS = "" } !/apiVersion: (monitoring\.coreos\.com|cert-manager\.io)\// && NF { print "---\n" $0 }'
}

# A dry run makes no ServiceAccount, and a pod cannot be made without its own.
without_accounts() {
  awk '/^kind: / { pod = $2 == "Pod" } !(pod && /^  serviceAccountName:/)'
}

who_is_asked() {
  echo "each pod is asked about once, by the right webhook"
  # Nobody answers, and failurePolicy Fail: the API server says who should have.
  template --values ci/default-values.yaml --set webhook.failurePolicy=Fail --show-only templates/webhook.yaml |
    kubectl apply --filename - >/dev/null
  kubectl create namespace "$NAMESPACE-plain" >/dev/null
  kubectl create namespace "$NAMESPACE-enabled" >/dev/null
  kubectl create namespace "$NAMESPACE-disabled" >/dev/null
  kubectl create namespace "$NAMESPACE-managed" >/dev/null
  kubectl label namespace "$NAMESPACE-enabled" proxyunwrap.dev/injection=enabled proxyunwrap.dev/managed=true >/dev/null
  kubectl label namespace "$NAMESPACE-disabled" proxyunwrap.dev/injection=disabled proxyunwrap.dev/managed=true >/dev/null
  kubectl label namespace "$NAMESPACE-managed" proxyunwrap.dev/managed=true >/dev/null
  until_asked # a new configuration takes effect a moment later

  local wish='proxyunwrap.dev/inject=true' typo='proxyunwrap.dev/prots=80' no='proxyunwrap.dev/inject=false'
  local answer='proxyunwrap.dev/status={}' other='example.com/a=b'
  asked plain "" nobody
  asked plain "$other" nobody
  asked plain "$wish" annotated
  asked plain "$typo" annotated
  asked plain "$no" nobody
  asked plain "$answer" nobody
  asked enabled "" enabled
  asked enabled "$wish" annotated
  asked enabled "$answer" enabled
  asked enabled "$no" nobody
  asked managed "" managed
  asked managed "$wish" annotated
  asked managed "$answer" managed
  asked managed "$no" nobody
  asked disabled "" nobody
  asked disabled "$wish" nobody
  check "$(who kube-system "$wish")" nobody "kube-system"
  check "$(who "$NAMESPACE" "$wish")" nobody "the operator's own namespace"
  kubectl delete mutatingwebhookconfiguration "$WEBHOOK" >/dev/null
}

namespaces_for_asking() { echo "$NAMESPACE"-{plain,enabled,disabled,managed}; }

until_asked() {
  local end=$((SECONDS + 20))
  until [[ $(who "$NAMESPACE-plain" proxyunwrap.dev/inject=true) == annotated ]]; do
    ((SECONDS < end)) || return 0 # what is wanted next says it better
    sleep 0.2
  done
}

# asked KIND ANNOTATION WANTED
asked() {
  check "$(who "$NAMESPACE-$1" "$2")" "$3" "$1 namespace, ${2:-no annotation}: $3"
}

# who NAMESPACE ANNOTATION: which webhook is asked about such a pod.
who() {
  local said
  if said=$(pod "$2" | kubectl create --namespace "$1" --dry-run=server --filename - 2>&1); then
    echo nobody
  else
    grep -o 'failed calling webhook "[a-z]*' <<<"$said" | grep -o '[a-z]*$' || echo "$said"
  fi
}

pod() {
  jq --null-input --arg annotation "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: "asked",
    annotations: (if $annotation == "" then null else ($annotation | split("=") | {(.[0]): .[1]}) end)},
    spec: {securityContext: {runAsNonRoot: true, runAsUser: 1, seccompProfile: {type: "RuntimeDefault"}},
      containers: [{name: "app", image: "app", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}]}}'
}

upgrades_keep_what_the_operator_wrote() {
  echo "upgrade and rollback keep what the operator wrote"
  release install
  as_operator secret "$WEBHOOK-certificate" '{"data": {"ca.crt": "Q0E="}}'
  as_operator lease "$NAME-operator" '{"spec": {"holderIdentity": "someone", "leaseDurationSeconds": 15}}'
  as_operator mutatingwebhookconfiguration "$WEBHOOK" "$(all_ca_bundles)"
  kept installed 5

  release upgrade --set webhook.timeoutSeconds=7 --set commonLabels.team=network
  kept upgraded 7
  helm rollback "$RELEASE" 1 --namespace "$NAMESPACE" >/dev/null
  kept "rolled back" 5

  helm uninstall "$RELEASE" --namespace "$NAMESPACE" >/dev/null
  check "$(kubectl get --namespace "$NAMESPACE" deployment,secret,lease,service --selector "app.kubernetes.io/instance=$RELEASE" --output name)" \
    "" "uninstalled, and nothing is left"
}

# release COMMAND HELM_OPTIONS...: without pods, as there is no image here.
release() {
  helm "$1" "$RELEASE" . --namespace "$NAMESPACE" --values ci/default-values.yaml \
    --set crds.enabled=false --set-string nodeSelector.nowhere=true "${@:2}" >/dev/null
}

as_operator() {
  kubectl patch "$1" "$2" --namespace "$NAMESPACE" --field-manager proxyunwrap-operator --patch "$3" >/dev/null
}

all_ca_bundles() {
  kubectl get mutatingwebhookconfiguration "$WEBHOOK" --output json |
    jq --compact-output '{webhooks: [.webhooks[] | {name, clientConfig: {caBundle: "Q0E="}}]}'
}

# kept WHEN TIMEOUT: and what helm changed is changed.
kept() {
  local configuration
  configuration=$(kubectl get mutatingwebhookconfiguration "$WEBHOOK" --output json)
  check "$(kubectl get secret "$WEBHOOK-certificate" --namespace "$NAMESPACE" --output jsonpath='{.data.ca\.crt}')" Q0E= "$1: the Secret"
  check "$(kubectl get lease "$NAME-operator" --namespace "$NAMESPACE" --output jsonpath='{.spec.holderIdentity}')" someone "$1: the Lease"
  check "$(jq --raw-output '[.webhooks[].clientConfig.caBundle] | join(" ")' <<<"$configuration")" "Q0E= Q0E= Q0E=" "$1: caBundle"
  check "$(jq '.webhooks[0].timeoutSeconds' <<<"$configuration")" "$2" "$1: timeoutSeconds $2"
}

main
