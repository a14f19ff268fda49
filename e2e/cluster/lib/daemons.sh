# shellcheck shell=bash disable=SC2154 # node-init.sh sets the folders
# The node's daemons: in which order they start, and with which flags.

start_daemons() {
  start containerd --config "$STATE/conf/containerd.toml"
  start_etcd
  start_apiserver
  await_api /readyz
  start_controller_manager
  start_scheduler
  start kubelet --config="$STATE/conf/kubelet.yaml" --kubeconfig="$KUBECONFIGS/node.yaml" \
    --hostname-override="$NODE" --node-ip="$NODE4,$NODE6"
  start kube-proxy --config="$STATE/conf/proxy.yaml"
  apply dns
  start coredns -conf "$STATE/conf/Corefile"
  start_metrics_server
}

start_etcd() {
  start etcd --data-dir="$STATE/etcd" --unsafe-no-fsync --log-level=warn \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
    --initial-cluster=default=http://127.0.0.1:2380
}

start_apiserver() {
  start kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=:: --secure-port=6443 \
    --advertise-address="$NODE4" --service-cluster-ip-range="$SERVICES4,$SERVICES6" \
    --client-ca-file="$PKI/ca.crt" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
    --kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$PKI/ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$PKI/front-proxy.crt" --proxy-client-key-file="$PKI/front-proxy.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/service-accounts.pub" \
    --service-account-signing-key-file="$PKI/service-accounts.key" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true --profiling=false
}

# Requests per second: the default of 20 makes a thousand pods in a minute, of which a test would see nothing else.
start_controller_manager() {
  local me=$KUBECONFIGS/controllers.yaml
  start kube-controller-manager --kubeconfig="$me" --authentication-kubeconfig="$me" --authorization-kubeconfig="$me" \
    --root-ca-file="$PKI/ca.crt" --service-account-private-key-file="$PKI/service-accounts.key" \
    --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
    --flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins --use-service-account-credentials=true \
    --horizontal-pod-autoscaler-sync-period=5s --kube-api-qps=200 --kube-api-burst=400 \
    --leader-elect=false --bind-address=127.0.0.1
}

start_scheduler() {
  local me=$KUBECONFIGS/scheduler.yaml
  start kube-scheduler --kubeconfig="$me" --authentication-kubeconfig="$me" --authorization-kubeconfig="$me" \
    --kube-api-qps=200 --kube-api-burst=400 --leader-elect=false --bind-address=127.0.0.1
}

# Its APIService comes last: one that does not answer holds up every deletion of a namespace. Ten
# seconds are the shortest resolution that it takes. Fake nodes have no kubelet to ask.
start_metrics_server() {
  local me=$KUBECONFIGS/metrics.yaml
  apply metrics-access
  await_api /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication # it reads this once
  start metrics-server --kubeconfig="$me" --authentication-kubeconfig="$me" --authorization-kubeconfig="$me" \
    --bind-address="$NODE4" --secure-port="$METRICS_PORT" \
    --tls-cert-file="$PKI/metrics-server.crt" --tls-private-key-file="$PKI/metrics-server.key" \
    --kubelet-insecure-tls --kubelet-preferred-address-types=InternalIP --kubelet-request-timeout=5s \
    --metric-resolution=10s --node-selector="$FAKE_LABEL!=$FAKE"
  await curl --silent --fail --insecure --output /dev/null "https://$NODE4:$METRICS_PORT/livez"
  apply metrics
}

start_kwok() {
  start kwok --kubeconfig="$KUBECONFIGS/kwok.yaml" --config="$FOLDER/kwok.yaml" --config="$PROGRAMS/kwok-stages.yaml" \
    --manage-nodes-with-label-selector="$FAKE_LABEL=$FAKE"
}

# With curl, which starts in a tenth of kubectl's time.
await_api() { # PATH
  await curl --silent --fail --output /dev/null --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" \
    "https://127.0.0.1:6443$1"
}

# kube-system comes a moment after the API server is ready.
apply() { # NAME, of a file in conf/
  await kubectl --kubeconfig="$KUBECONFIGS/admin.yaml" apply --validate=false --filename="$STATE/conf/$1.yaml"
}

await() {
  until "$@"; do
    require_daemons
    sleep 0.1
  done
}
