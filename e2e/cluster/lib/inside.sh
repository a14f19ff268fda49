# shellcheck shell=bash
# The way in: nothing of the cluster can be reached from the machine's own network.

run() {
  require_root
  (($# > 0)) || fail "run what? for instance: cluster run kubectl get pods -A"
  require_up
  enter "$@"
}

shell() {
  require_root
  require_up
  echo "inside: kubectl, helm and ctr are here, pods and Services can be reached; exit leaves"
  PS1='cluster \w \$ ' enter bash --norc -i
}

load() {
  local archive said name
  require_root
  (($# > 0)) || fail "load what? OCI archives, each with an image called localhost/NAME:TAG"
  require_up
  for archive in "$@"; do
    [[ -r $archive ]] || fail "cannot read $archive"
    said=$(import_image "$archive" 2>&1) || fail "loading $archive: $said"
    name=$(name_in "$archive") || name=
    [[ -n $name ]] && image_is_there "$name" || fail "$archive holds no image: $said"
    echo "loaded $name from $archive"
  done
}

# What ctr says on its way is a progress display, in which a quick image may not show up at all.
name_in() {
  tar --extract --to-stdout --file "$1" index.json 2>/dev/null |
    sed -En 's/.*"io\.containerd\.image\.name": ?"([^"]+)".*/\1/p'
}

image_is_there() {
  inside ctr --namespace k8s.io images list --quiet 2>/dev/null | grep -Fqx "$1"
}

# Through standard input: the node has its own /var and /run, and would not find a file there.
import_image() {
  inside ctr --namespace k8s.io images import - <"$1"
}

status() {
  local ended
  if ! node_pid >/dev/null; then
    echo "down"
    exit 1
  fi
  echo "up: pid $(node_pid), $(<"$STATE/description")"
  if ended=$(grep ' ended' "$STATE/log/node.log"); then
    echo "$ended; see $STATE/log"
  fi
  inside kubectl get nodes --output=wide
  inside kubectl get pods --all-namespaces --output=wide
}

require_up() {
  node_pid >/dev/null || fail "the cluster is not up: e2e/cluster/cluster up"
}

inside() {
  (enter "$@")
}

# Becomes a command in the node's namespaces, in the current folder. The command gets SIGTERM when
# nsenter ends, which hands no signal on: `timeout 60 cluster run ...` ends it too.
enter() {
  export PATH=$PROGRAMS:$PATH:/usr/sbin:/sbin KUBECONFIG=$STATE/kubeconfig/admin.yaml
  # These would go to the caller's home folder.
  export KUBECACHEDIR=$STATE/cache/kube
  export HELM_CACHE_HOME=$STATE/cache/helm HELM_CONFIG_HOME=$STATE/cache/helm HELM_DATA_HOME=$STATE/cache/helm
  # nsenter alone would start in /.
  exec nsenter --target "$(node_pid)" --net --mount --pid --uts --ipc -- \
    setpriv --pdeathsig TERM env --chdir="$PWD" "$@"
}
