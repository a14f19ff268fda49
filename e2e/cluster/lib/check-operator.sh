# shellcheck shell=bash
# What an operator's tests rely on: admission, events, metrics, fake nodes, an API server that restarts.

check_for_operators() {
  start_check_objects
  check_pod_security
  check_webhook
  check_access
  check_fake_nodes
  check_restart
  check_metrics
}

# Measuring takes its time: what is looked at last starts first.
start_check_objects() {
  (cd "$STATE/pki" && signed webhook /CN=webhook serverAuth -addext "subjectAltName=DNS:webhook.$CHECK.svc")
  kubectl_check create secret tls webhook --cert="$STATE/pki/webhook.crt" --key="$STATE/pki/webhook.key" >/dev/null
  sed "s/CA_BUNDLE/$(base64 --wrap=0 "$STATE/pki/ca.crt")/; s/NAMESPACE/$CHECK/" "$FOLDER/lib/check-operator.yaml" |
    kubectl_check apply --filename - >/dev/null
}

check_pod_security() {
  inside kubectl create namespace "$CHECK-baseline" >/dev/null
  inside kubectl label namespace "$CHECK-baseline" pod-security.kubernetes.io/enforce=baseline >/dev/null
  await "second namespace has its service account" inside kubectl --namespace "$CHECK-baseline" get serviceaccount default
  expect "Pod Security baseline refuses NET_ADMIN" 'violates PodSecurity "baseline:latest".*NET_ADMIN' \
    inside kubectl --namespace "$CHECK-baseline" apply --dry-run=server --filename - <"$FOLDER/lib/check.yaml"
}

check_webhook() {
  kubectl_check wait --for=condition=Ready pod/webhook --timeout="${PATIENCE}s" >/dev/null
  # The webhook's Service may be some moments behind its pod: until then it fails, and nothing is made.
  await "API server reaches a webhook in a pod, through its Service" webhook_refuses
}

webhook_refuses() {
  local said
  said=$(kubectl_check create configmap refused --dry-run=server 2>&1 || true)
  [[ $said == *"refused by the webhook in a pod"* ]]
}

check_access() {
  expect "events are kept" 'Started' kubectl_check get events --field-selector=involvedObject.name=app
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect "port-forward to a sidecar" '^hello from app$' inside bash -euc '
    kubectl --namespace "$0" port-forward pod/app 19000:9000 >/dev/null &
    trap "kill $!" EXIT
    curl --silent --retry 20 --retry-delay 1 --retry-connrefused http://127.0.0.1:19000/' "$CHECK"
}

check_fake_nodes() {
  local had_fakes
  had_fakes=$(inside kubectl get nodes --selector="$FAKE_LABEL=$FAKE" --output=name)
  [[ -n $had_fakes ]] || fakes start 2 >/dev/null
  kubectl_check rollout status deployment/fake --timeout="${PATIENCE}s" >/dev/null ||
    { kubectl_check get pods >&2; fail "pods on fake nodes did not get ready: see above"; }
  expect "20 pods on fake nodes, each with a sidecar and two addresses" '^(fake-[0-9]+ 10\.245\.[0-9.]+ fd00:10:245:[0-9a-f:]+ true ?){20}$' \
    kubectl_check get pods --selector=app=fake --output=jsonpath='{range .items[*]}{.spec.nodeName} {.status.podIPs[*].ip} {.status.initContainerStatuses[1].ready}{"\n"}{end}'
  kubectl_check delete deployment fake --timeout="${PATIENCE}s" >/dev/null
  [[ -n $had_fakes ]] || fakes stop >/dev/null
}

check_restart() {
  expect "API server restarts" 'ready after' restart-apiserver
  expect "what was there is there" '^app .*client webhook ' kubectl_check get pods --output=jsonpath='{.items[*].metadata.name} '
  expect "a pod that ran runs on" '^0$' kubectl_check get pod app --output=jsonpath='{.status.containerStatuses[0].restartCount}'
}

check_metrics() {
  await "kubectl top knows the busy pod" kubectl_check top pod --selector=app=busy
  await "a HorizontalPodAutoscaler scaled it to 2 for its CPU" \
    kubectl_check wait --for=jsonpath='{.status.readyReplicas}'=2 deployment/busy --timeout=1s
}
