# shellcheck shell=bash disable=SC2164 # `cluster` sets -e
# One authority, one certificate for each program, and the kubeconfig files that name them.

make_certificates() {
  cd "$STATE/pki"
  # A configuration of our own: the machine's may add extensions.
  printf '[req]\ndistinguished_name = name\n[name]\n' >openssl.cnf
  self_signed ca /CN=cluster-ca -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature
  signed apiserver /CN=kube-apiserver serverAuth -addext "subjectAltName=$(api_names)"
  client kubelet-client /O=system:masters/CN=apiserver-to-kubelet # for logs and exec
  client front-proxy /CN=front-proxy                              # API server to aggregated API servers
  client admin /O=system:masters/CN=admin
  client controllers /CN=system:kube-controller-manager
  client scheduler /CN=system:kube-scheduler
  client node "/O=system:nodes/CN=system:node:$NODE"
  client proxy /CN=system:kube-proxy
  client dns /CN=cluster-dns
  signed metrics-server /CN=metrics-server serverAuth -addext subjectAltName=DNS:metrics-server.kube-system.svc
  client metrics /CN=metrics-server
  client kwok /O=system:masters/CN=kwok
  make_service_account_key
  local user
  for user in admin controllers scheduler node proxy dns metrics kwok; do
    write_kubeconfig "$user"
  done
}

api_names() {
  local name names=DNS:localhost
  for name in kubernetes{,.default{,.svc{,.cluster.local}}}; do
    names+=,DNS:$name
  done
  echo "$names,IP:127.0.0.1,IP:$NODE4,IP:$API4"
}

self_signed() { # NAME SUBJECT [OPTION...]
  local name=$1 subject=$2
  shift 2
  openssl req -x509 -config openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "$subject" -keyout "$name.key" -out "$name.crt" "$@" 2>openssl.log || fail "openssl: $(<openssl.log)"
}

signed() { # NAME SUBJECT USAGE [OPTION...]
  local name=$1 subject=$2 usage=$3
  shift 3
  self_signed "$name" "$subject" -CA ca.crt -CAkey ca.key -addext "extendedKeyUsage=$usage" \
    -addext basicConstraints=critical,CA:FALSE "$@"
}

client() {
  signed "$1" "$2" clientAuth
}

# Signs the tokens of service accounts: a key pair, not a certificate.
make_service_account_key() {
  openssl ecparam -name prime256v1 -genkey -noout -out service-accounts.key
  openssl ec -in service-accounts.key -pubout -out service-accounts.pub 2>/dev/null
}

write_kubeconfig() {
  cat >"$STATE/kubeconfig/$1.yaml" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: "https://127.0.0.1:6443", certificate-authority: "$STATE/pki/ca.crt"}}]
users: [{name: $1, user: {client-certificate: "$STATE/pki/$1.crt", client-key: "$STATE/pki/$1.key"}}]
contexts: [{name: cluster, context: {cluster: cluster, user: $1}}]
current-context: cluster
EOF
}
