# shellcheck shell=bash
# Tries what the tests rely on. A cluster that was down is brought up and down again.

CHECK=cluster-check # the namespace

check() {
  local was_up=yes
  require_root
  if ! node_pid >/dev/null; then
    was_up=no
    up
  fi
  # shellcheck disable=SC2034 # `stage` reads it
  BEGIN=$EPOCHREALTIME
  load "$PROGRAMS/busybox.tar"
  make_check_pods
  check_pods
  check_addresses
  check_names
  check_limits
  check_for_operators
  if [[ $was_up == yes ]]; then
    delete_check_namespace
  else
    down
  fi
}

make_check_pods() {
  delete_check_namespace # a check that failed leaves its own, to look at
  inside kubectl create namespace "$CHECK" >/dev/null
  await "namespace has its service account" kubectl_check get serviceaccount default
  kubectl_check apply --filename - <"$FOLDER/lib/check.yaml" >/dev/null
  kubectl_check wait --for=condition=Ready pod/app pod/client --timeout="${PATIENCE}s" >/dev/null ||
    { kubectl_check describe pods >&2; fail "the pods did not get ready: see above"; }
  stage "pods Ready: init container with NET_ADMIN, native sidecar, app; restricted client"
}

check_pods() {
  expect "init container added its rules" 'from 127\.0\.0\.0/8 iif lo' kubectl_check logs app --container=routes
  expect "client has no capability" 'CapEff:.0{16}' from_client grep CapEff /proc/self/status
  expect "client's seccomp filter is on" 'Seccomp:.2' from_client grep -w Seccomp: /proc/self/status
}

check_addresses() {
  local pod4 pod6 service4 service6 address
  read -r pod4 pod6 <<<"$(kubectl_check get pod app --output=jsonpath='{.status.podIPs[*].ip}')"
  read -r service4 service6 <<<"$(kubectl_check get service app --output=jsonpath='{.spec.clusterIPs[*]}')"
  [[ -n $pod6 && -n $service6 ]] || fail "not both families: pod $pod4 $pod6, service $service4 $service6"
  for address in "$pod4:9000" "[$pod6]:9000" "$service4" "[$service6]" "$NODE4:30090" "[$NODE6]:30090"; do
    expect "node to $address" '^hello from app$' from_node "$address"
  done
  for address in "$pod4:9000" "[$pod6]:9000" "$service4" "[$service6]" "$NODE4:30090" "[$NODE6]:30090"; do
    expect "pod to $address" '^hello from app$' from_pod client "$address"
  done
  for address in "$service4" "[$service6]"; do
    expect "pod to itself through $address" '^hello from app$' from_pod app "$address"
  done
}

check_names() {
  local name
  for name in app "app.$CHECK" "app.$CHECK.svc.cluster.local"; do
    expect "pod to $name" '^hello from app$' from_pod client "$name"
  done
  expect "a name has both addresses" 'Address: fd00:.*Address: 10\.96|Address: 10\.96.*Address: fd00:' \
    lookup "app.$CHECK.svc.cluster.local"
  expect "DNS over IPv6" 'Address: 10\.96\.0\.1( |$)' lookup kubernetes.default.svc.cluster.local "$DNS6"
  expect "a foreign name is refused at once" "can't find|REFUSED" lookup proxyunwrap.invalid.
}

# The limit of app is in the cgroup of its pod, wherever the layout puts that.
check_limits() {
  expect "memory limit is in force" '^67108864$' kubectl_check exec app --container=app -- \
    sh -c 'cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes'
}

delete_check_namespace() {
  inside kubectl delete validatingwebhookconfiguration "$CHECK" --ignore-not-found >/dev/null
  inside kubectl delete namespace "$CHECK" "$CHECK-baseline" --ignore-not-found --timeout="${PATIENCE}s" >/dev/null
}

expect() { # WHAT PATTERN COMMAND...: what the command says, as one line, must match
  local what=$1 pattern=$2 said
  shift 2
  said=$("$@" 2>&1 || true)
  [[ "${said//$'\n'/ }" =~ $pattern ]] || fail "not so: $what; it said: $said"
  stage "$what"
}

kubectl_check() {
  inside kubectl --namespace "$CHECK" "$@"
}

from_node() {
  inside curl --silent --show-error --globoff --max-time "$PATIENCE" "http://$1/"
}

from_client() {
  kubectl_check exec client -- "$@"
}

# Not `wget -T`, which crashes in Debian's busybox.
from_pod() { # POD ADDRESS
  kubectl_check exec "$1" --container="$1" -- timeout "$PATIENCE" wget -q -O - "http://$2/"
}

lookup() { # NAME [SERVER]
  from_client timeout "$PATIENCE" nslookup "$@"
}
