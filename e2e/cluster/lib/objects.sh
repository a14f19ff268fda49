# shellcheck shell=bash
# What the API server is told of programs that run on the node rather than in pods: CoreDNS and
# metrics-server. Their Services have no selector, and we write their endpoints.

dns_objects() {
  local ports="{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}"
  cat <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cluster-dns}
rules:
- {apiGroups: [""], resources: [namespaces, services], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cluster-dns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-dns}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: cluster-dns}]
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec:
  clusterIP: $DNS4
  clusterIPs: ["$DNS4", "$DNS6"]
  ipFamilyPolicy: RequireDualStack
  ports: [$ports]
---
$(endpoints kube-dns IPv4 "$NODE4" "$ports")
---
$(endpoints kube-dns IPv6 "$NODE6" "$ports")
EOF
}

# What metrics-server's own manifests give to its ServiceAccount, for the user of its certificate.
metrics_access() {
  cat <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-server}
rules:
- {apiGroups: [""], resources: [nodes/metrics], verbs: [get]}
- {apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch]}
---
$(bind ClusterRoleBinding metrics-server ClusterRole metrics-server)
---
$(bind ClusterRoleBinding metrics-server-delegates ClusterRole system:auth-delegator)
---
$(bind RoleBinding metrics-server-reads-authentication Role extension-apiserver-authentication-reader)
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: metrics-reader
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
rules:
- {apiGroups: [metrics.k8s.io], resources: [nodes, pods], verbs: [get, list, watch]}
EOF
}

metrics_objects() {
  cat <<EOF
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{name: https, port: 443, targetPort: $METRICS_PORT}]}
---
$(endpoints metrics-server IPv4 "$NODE4" "{name: https, port: $METRICS_PORT, protocol: TCP}")
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {name: metrics-server, namespace: kube-system}
  caBundle: $(base64 --wrap=0 "$STATE/pki/ca.crt")
  groupPriorityMinimum: 100
  versionPriority: 100
EOF
}

bind() { # KIND NAME ROLE-KIND ROLE: to metrics-server's user; a namespace is ignored where there is none
  cat <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: $1
metadata: {name: $2, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: $3, name: "$4"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: metrics-server}]
EOF
}

endpoints() { # SERVICE FAMILY ADDRESS PORTS
  cat <<EOF
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: "$1-${2,,}", namespace: kube-system, labels: {kubernetes.io/service-name: $1}}
addressType: $2
endpoints: [{addresses: ["$3"], conditions: {ready: true}}]
ports: [$4]
EOF
}
