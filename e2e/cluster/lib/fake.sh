# shellcheck shell=bash
# Nodes without a kubelet, on which kwok says that pods run. Shared with ../../kind, so whoever sources
# this has: fail, require_up, inside, begin_kwok, end_kwok, KWOK_LOG, PATIENCE.

# Addresses lead nowhere: 10.99.1.N of nodes, 10.245.N.0/24 of their pods, and the same with IPv6.
FAKE_NAME=fake FAKE_LABEL=type FAKE=kwok
FAKE_MOST=250 # nodes, and pods on each of them

fakes() { # start N, or stop
  local command=${1-} count=${2-}
  case $command in
    start)
      require_up
      make_fakes "$count"
      ;;
    stop)
      require_up
      remove_fakes
      ;;
    *) fail "kwok start N makes fake nodes $FAKE_NAME-1 to $FAKE_NAME-N, kwok stop removes them" ;;
  esac
}

# Called again with another number it adds nodes; it never takes any away.
make_fakes() {
  local count=$1 begin=$SECONDS said
  [[ $count =~ ^[1-9][0-9]{0,3}$ && $count -le $FAKE_MOST ]] || fail "kwok start: how many nodes, from 1 to $FAKE_MOST?"
  begin_kwok
  said=$(fake_nodes "$count" | inside kubectl create --filename - 2>&1 >/dev/null | grep -v AlreadyExists || true)
  [[ -z $said ]] || fail "making the fake nodes: $said"
  inside kubectl wait --for=condition=Ready node --selector="$FAKE_LABEL=$FAKE" --timeout="${PATIENCE}s" >/dev/null ||
    fail "the fake nodes did not get ready; the end of $KWOK_LOG: $(tail -n 3 "$KWOK_LOG")"
  echo "kwok: $FAKE_NAME-1 to $FAKE_NAME-$count are ready after $((SECONDS - begin)) s"
}

# Nodes first, or their pods' controllers would put new ones there. Then the pods, which nobody else
# would end soon; a request for each node, as one for each pod takes minutes for a thousand. What a
# controller makes anew stays Pending.
remove_fakes() {
  local namespace node
  inside kubectl delete nodes --selector="$FAKE_LABEL=$FAKE" --ignore-not-found >/dev/null
  fake_nodes_with_pods | while read -r namespace node; do
    inside kubectl delete --raw \
      "/api/v1/namespaces/$namespace/pods?fieldSelector=spec.nodeName%3D$node&gracePeriodSeconds=0" </dev/null >/dev/null
  done
  end_kwok
  echo "kwok: no fake node is left"
}

# A line for each namespace and fake node with pods of it.
fake_nodes_with_pods() {
  inside kubectl get pods --all-namespaces --no-headers \
    --output=custom-columns=NAMESPACE:.metadata.namespace,NODE:.spec.nodeName |
    awk -v fake="^$FAKE_NAME-" '$2 ~ fake' | sort -u
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

# What kwok makes of nodes and pods, out of files of its module: Ready at once, gone at once. To be
# called in the folder of go.mod.
kwok_stages() {
  local stages stage
  stages=$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease \
    pod/fast/pod-{ready,complete,delete}; do
    echo ---
    cat "$stages/$stage.yaml"
  done
}
