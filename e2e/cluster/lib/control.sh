# shellcheck shell=bash
# Commands that change a cluster which is up: the API server's outage, fake nodes.

restart-apiserver() {
  local down=${1:-0} begin=$EPOCHREALTIME
  require_root
  [[ $down =~ ^[0-9]{1,2}$ ]] || fail "restart-apiserver: how many seconds shall it stay down, from 0 to 99? not $down"
  require_up
  ask "restart-apiserver $down"
  until_true "the API server answers again" api_is_ready
  echo "API server restarted, ready after $(seconds_since "$begin") s"
}

api_is_ready() {
  inside kubectl get --raw /readyz
}

kwok() {
  local command=${1-} count=${2-}
  require_root
  case $command in
    start) require_up; kwok_start "$count" ;;
    stop) require_up; kwok_stop ;;
    *) fail "kwok start N makes fake nodes $FAKE_NAME-1 to $FAKE_NAME-N, kwok stop removes them" ;;
  esac
}

# Called again with another number it adds nodes; it never takes any away.
kwok_start() {
  local count=$1 begin=$EPOCHREALTIME said
  [[ $count =~ ^[1-9][0-9]{0,3}$ && $count -le $FAKE_MOST ]] || fail "kwok start: how many nodes, from 1 to $FAKE_MOST?"
  ask start-kwok
  said=$(fake_nodes "$count" | inside kubectl create --filename - 2>&1 >/dev/null | grep -v AlreadyExists || true)
  [[ -z $said ]] || fail "making the fake nodes: $said"
  inside kubectl wait --for=condition=Ready node --selector="$FAKE_LABEL=$FAKE" --timeout="${PATIENCE}s" >/dev/null ||
    fail "the fake nodes did not get ready; the end of $STATE/log/kwok.log: $(tail -n 3 "$STATE/log/kwok.log")"
  echo "kwok: $FAKE_NAME-1 to $FAKE_NAME-$count are ready after $(seconds_since "$begin") s"
}

# Nodes first, or their pods' controllers would put new ones there. Then the pods, which nobody else
# would end soon; a request for each node, as one for each pod takes minutes for a thousand. What a
# controller makes anew stays Pending.
kwok_stop() {
  local namespace node
  inside kubectl delete nodes --selector="$FAKE_LABEL=$FAKE" --ignore-not-found >/dev/null
  fake_nodes_with_pods | while read -r namespace node; do
    inside kubectl delete --raw \
      "/api/v1/namespaces/$namespace/pods?fieldSelector=spec.nodeName%3D$node&gracePeriodSeconds=0" </dev/null >/dev/null
  done
  ask stop-kwok
  echo "kwok: no fake node is left"
}

# A line for each namespace and fake node with pods of it.
fake_nodes_with_pods() {
  inside kubectl get pods --all-namespaces --no-headers \
    --output=custom-columns=NAMESPACE:.metadata.namespace,NODE:.spec.nodeName |
    awk -v fake="^$FAKE_NAME-" '$2 ~ fake' | sort -u
}

fake_nodes() {
  inside kubectl get pods --all-namespaces --no-headers \
    --output=custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,NODE:.spec.nodeName |
    awk -v fake="^$FAKE_NAME-" '$3 ~ fake { pods[$1] = pods[$1] " " $2 } END { for (n in pods) print n pods[n] }'
}

fake_nodes() {
  local number
  for ((number = 1; number <= $1; number++)); do
    cat <<EOF
---
apiVersion: v1
kind: Node
metadata:
  name: $FAKE_NAME-$number
  labels: {$FAKE_LABEL: $FAKE, kubernetes.io/hostname: $FAKE_NAME-$number, kubernetes.io/os: linux}
spec:
  podCIDRs: [10.245.$number.0/24, "fd00:10:245:$number::/64"]
  podCIDR: 10.245.$number.0/24
  taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
status:
  addresses:
  - {type: InternalIP, address: 10.99.1.$number}
  - {type: InternalIP, address: "fd00:10:99:1::$number"}
  - {type: Hostname, address: $FAKE_NAME-$number}
  allocatable: {cpu: 1k, memory: 1Ti, pods: $FAKE_MOST}
  capacity: {cpu: 1k, memory: 1Ti, pods: $FAKE_MOST}
EOF
  done
}

# Pid 1 of the node starts and stops daemons: they are its children, in its cgroup, with its limits.
ask() { # REQUEST
  local begin=$SECONDS
  exec 7>"$STATE/asking.lock"
  flock 7
  rm -f "$STATE/obeyed"
  echo "$1" >"$STATE/requests"
  until [[ -s $STATE/obeyed ]]; do
    node_pid >/dev/null || fail "the node has ended: all logs: $STATE/log"
    ((SECONDS - begin < PATIENCE + 100)) || fail "the node does not answer to: $1; see $STATE/log/node.log"
    sleep 0.05
  done
  exec 7>&-
}

until_true() { # WHAT COMMAND...
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >"$STATE/log/await.log" 2>&1; do
    ((SECONDS < end)) || fail "not reached: $what: $(<"$STATE/log/await.log")"
    sleep 0.1
  done
}
