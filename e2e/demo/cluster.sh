#!/bin/bash
# Shows on a Kubernetes what ProxyUnwrap is for: nginx behind HAProxy, which speaks the PROXY protocol;
# nginx's own log before and after helm install and one annotation.
#
#   client pod  <---->  HAProxy, sends the PROXY protocol  <---->  nginx, a Deployment called web
#
# usage: e2e/demo/cluster.sh    (after e2e/images/build.sh; `make demo` does both)
# CLUSTER=kind or embedded chooses the cluster; else kind where a container engine answers. The cluster
# stays, for a look. Ends with 0 when nginx saw the client's own address and port.
set -euo pipefail
cd "$(dirname "$0")/../.."

PODS=10.244.0.0/16,fd00:10:244::/56 # both clusters give their pods addresses from these
IMAGES=(proxyunwrap-operator proxyunwrap-dataplane nginx haproxy node)
failures=0

main() {
  if [[ ${1-} == inside ]]; then
    inside
    return
  fi
  local cluster image
  cluster=$(choose_cluster)
  "$cluster" up
  for image in "${IMAGES[@]}"; do
    [[ -e target/images/$image-dev.tar ]] || fail "target/images/$image-dev.tar is not there: make images"
    "$cluster" load "target/images/$image-dev.tar"
  done
  "$cluster" run e2e/demo/cluster.sh inside
  echo
  echo "All of it is still there: make cluster-shell leads there, make cluster-down ends it."
}

fail() {
  echo "cluster.sh: $*" >&2
  exit 1
}

choose_cluster() {
  local engine choice=${CLUSTER-}
  for engine in docker podman nerdctl; do
    if [[ -z $choice ]] && command -v "$engine" >/dev/null && timeout 20 "$engine" info >/dev/null 2>&1; then
      choice=kind
    fi
  done
  case ${choice:-embedded} in
    kind) echo e2e/kind/cluster ;;
    embedded) echo e2e/cluster/cluster ;;
    *) fail "CLUSTER is kind or embedded, not $choice" ;;
  esac
}

inside() {
  begin_anew
  echo "BEFORE: nginx behind HAProxy; the client is $client4, or $client6"
  before 8000 "no header sent"
  before 8001 "send-proxy"
  before 8002 "send-proxy-v2"

  echo
  show_alone helm upgrade --install proxyunwrap charts/proxyunwrap --namespace proxyunwrap-system --create-namespace \
    --set "trustedPeers={$PODS}" --values e2e/manifests/values.yaml --wait
  echo "  trustedPeers: who may speak for clients; here HAProxy is a pod. The values file names the images built here."
  echo
  echo "One annotation:"
  show kubectl patch deployment web --patch \
    '{"spec":{"template":{"metadata":{"annotations":{"proxyunwrap.dev/inject":"true"}}}}}'
  rolled_out
  show kubectl get pods --selector app=web --output custom-columns='NAME:.metadata.name,INIT:.spec.initContainers[*].name,CONTAINERS:.spec.containers[*].name'

  echo
  echo "AFTER: the same nginx, the same HAProxy"
  after 8001 41001 "send-proxy" -4 "$client4"
  after 8001 41002 "send-proxy" -6 "$client6"
  after 8002 41003 "send-proxy-v2" -4 "$client4"
  after 8002 41004 "send-proxy-v2" -6 "$client6"
  echo
  echo "nginx sees the client's own address and port; neither nginx nor HAProxy was changed."
  ((failures == 0)) || fail "$failures of the promises above did not hold"
}

# begin_anew: the web server, HAProxy and the client, without what an earlier demo left.
begin_anew() {
  until_true "the ServiceAccount of the namespace" kubectl get serviceaccount default
  kubectl delete --filename e2e/demo/shop.yaml --ignore-not-found >/dev/null 2>&1
  show kubectl apply --filename e2e/demo/shop.yaml
  kubectl wait --for condition=Ready pod/balancer pod/client --timeout=120s >/dev/null
  rolled_out
  client4=$(client_address -v) client6=$(client_address -e)
  echo
}

# The new pod is ready and the old one gone: `kubectl logs deployment/web` can mean one only.
rolled_out() {
  kubectl rollout status deployment/web --timeout=120s >/dev/null
  until_true "the end of the old pod" one_web
}

one_web() { (($(kubectl get pods --selector app=web --output name | wc -l) == 1)); }

# client_address -v|-e: of IPv4, or of IPv6.
client_address() {
  kubectl get pod client --output jsonpath='{range .status.podIPs[*]}{.ip}{"\n"}{end}' | grep "$1" : ||
    fail "the client pod has no address of one family: the cluster is not dual-stack"
}

# show COMMAND...: as a person would type it.
show() {
  printf '  $ %s\n' "$(quoted "$@")"
  "$@" | sed 's/^/    /'
}

# show_alone COMMAND...: without what it says, unless it fails.
show_alone() {
  local said
  printf '  $ %s\n' "$(quoted "$@")"
  said=$("$@" 2>&1) || fail "$said"
}

quoted() {
  local word
  for word in "$@"; do
    if [[ $word =~ ^[-A-Za-z0-9_./=:,]+$ ]]; then printf '%s ' "$word"; else printf "'%s' " "$word"; fi
  done
}

# before PORT WHAT: what nginx makes of a connection that comes through this listener.
before() {
  fetch "$1" -4
  printf '    %-14s nginx: %.90s\n' "$2" "$logged"
}

# after PORT LOCAL_PORT WHAT FAMILY CLIENT: nginx must name exactly this client and port.
after() {
  fetch "$1" "$4" --local-port "$2"
  check "${logged%%  *}" "$5 port $2" "$(printf '%-14s nginx: %s' "$3" "$logged")"
}

# fetch PORT CURL_OPTIONS...: leaves in $logged the line that nginx writes about it.
fetch() {
  local port=$1 lines
  shift
  lines=$(log | wc -l)
  # A request that fails still has its line, and the line is what we look at.
  kubectl exec client -- /usr/bin/curl -sS -o /dev/null --max-time 5 "$@" "http://balancer:$port/" >/dev/null 2>&1 || true
  until_true "a line in nginx's log" longer_than "$lines"
  logged=$(log | sed -n "$((lines + 1))p")
}

# Without the container's name: injection leaves the app's own log in front.
log() { kubectl logs deployment/web 2>/dev/null; }

longer_than() { (($(log | wc -l) > $1)); }

# until_true WHAT COMMAND...: waits for a condition, at most half a minute.
until_true() {
  local what=$1 end=$((SECONDS + 30))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "gave up waiting for $what"
    sleep 0.2
  done
}

# check FOUND WANTED TEXT: a mark before the text; a wrong one is counted.
check() {
  if [[ $1 == "$2" ]]; then
    echo "  ✔ $3"
  else
    echo "  ✘ $3   (wanted: $2)"
    failures=$((failures + 1))
  fi
}

main "$@"
