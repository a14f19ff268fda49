# shellcheck shell=bash
# The configuration file of each daemon that has one. What is not set is Kubernetes' default.

write_configuration() {
  echo "nameserver $DNS4" >"$STATE/conf/resolv.conf" # for pods with dnsPolicy Default
  kubelet_configuration >"$STATE/conf/kubelet.yaml"
  proxy_configuration >"$STATE/conf/proxy.yaml"
  containerd_configuration >"$STATE/conf/containerd.toml"
  pod_network >"$STATE/cni/10-pods.conflist"
  dns_configuration >"$STATE/conf/Corefile"
  dns_objects >"$STATE/conf/dns.yaml"
  metrics_access >"$STATE/conf/metrics-access.yaml"
  metrics_objects >"$STATE/conf/metrics.yaml"
}

kubelet_configuration() {
  cat <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$STATE/pki/ca.crt"}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: $(pods_cgroup)
enforceNodeAllocatable: [pods]
failCgroupV1: false   # the default, true, refuses cgroup v1
failSwapOn: false
oomScoreAdj: 0        # the default is lower, which takes CAP_SYS_RESOURCE
volumePluginDir: /var/lib/kubelet/volume-plugins   # the default is in /usr, on the machine itself
clusterDomain: cluster.local
clusterDNS: ["$DNS4", "$DNS6"]
resolvConf: "$STATE/conf/resolv.conf"
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}   # a full laptop still tests
imageGCHighThresholdPercent: 100   # images cannot be fetched again
imageGCLowThresholdPercent: 99
syncFrequency: 5s
nodeStatusUpdateFrequency: 5s
EOF
}

proxy_configuration() {
  cat <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $PROXY_MODE
clientConnection: {kubeconfig: "$STATE/kubeconfig/proxy.yaml"}
clusterCIDR: $PODS4,$PODS6
hostnameOverride: $NODE
oomScoreAdj: 0
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}   # 0: leave them, as only the machine can set them
EOF
}

containerd_configuration() {
  cat <<EOF
version = 3
root = '/var/lib/containerd'
state = '/run/containerd'
oom_score = 0
disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.snapshotter.v1.blockfile', 'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper', 'io.containerd.snapshotter.v1.erofs', 'io.containerd.snapshotter.v1.zfs']
[grpc]
  address = '/run/containerd/containerd.sock'
[plugins.'io.containerd.internal.v1.opt']
  path = '/var/lib/containerd/opt'   # the default is in /opt, on the machine itself
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'localhost/pause:1'
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true      # a sandbox wants -998, which takes CAP_SYS_RESOURCE
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['$PROGRAMS/cni']
  conf_dir = '$STATE/cni'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = '$PROGRAMS/runc'
  SystemdCgroup = false
EOF
}

pod_network() {
  cat <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "$BRIDGE", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$PODS4"}], [{"subnet": "$PODS6"}]],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
}

dns_configuration() {
  cat <<EOF
.:53 {
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig "$STATE/kubeconfig/dns.yaml"
    pods insecure
  }
  loadbalance
}
EOF
}
