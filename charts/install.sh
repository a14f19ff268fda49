#!/bin/bash
# Writes charts/install.yaml: the chart as plain objects, for `kubectl apply --server-side`.
# Who may speak for clients cannot be guessed. So the list holds a word that is no network: until a
# person has replaced it, the operator does not start, and names the word.
#   install.sh            write it
#   install.sh --check    only say whether it is as the chart would have it
set -euo pipefail
cd "$(dirname "$0")"

FILE=install.yaml
WORD=THE-NETWORKS-OF-YOUR-BALANCERS
STAND_IN=192.0.2.0/24 # for documentation; the schema wants a network

main() {
  case ${1-} in
    "") render >"$FILE.new" && mv "$FILE.new" "$FILE" ;;
    --check) render | diff -u "$FILE" - || { echo "install.sh: charts/$FILE is not what the chart gives: make install-yaml" >&2; exit 1; } ;;
    *) sed -n '2,/^set/ s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
}

render() {
  cat <<E2
# ProxyUnwrap as plain objects, made from the chart by \`make install-yaml\`. Say first who may speak for
# clients: the networks from which your balancers reach the pods, one a line where the word stands.
#   sed 's|$WORD|10.0.0.0/8|' install.yaml | kubectl apply --server-side --filename -
# With the word still in it nothing is injected: the operator does not start.
# After a change of the ConfigMap: kubectl --namespace proxyunwrap-system rollout restart deployment
---
apiVersion: v1
kind: Namespace
metadata:
  name: proxyunwrap-system
  labels:
    pod-security.kubernetes.io/enforce: restricted
E2
  # It is not Helm that keeps these objects.
  helm template proxyunwrap proxyunwrap --namespace proxyunwrap-system --kube-version 1.33.0 --no-hooks \
    --set crds.keep=false --set "trustedPeers={$STAND_IN}" |
    sed -e "s|$STAND_IN|$WORD|" -e '/app.kubernetes.io\/managed-by: Helm/d' -e '/helm.sh\//d' -e '/^# Source:/d' |
    without_gaps
}

# Helm's versions differ in empty lines between objects.
without_gaps() {
  awk '/^$/ { gap = gap "\n"; next } $0 == "---" { gap = "" } { printf "%s%s\n", gap, $0; gap = "" }'
}

main "$@"
