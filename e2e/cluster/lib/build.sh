# shellcheck shell=bash disable=SC2164 # `cluster` sets -e
# Builds every program of the cluster from Go modules, once for each content of the sources.

# Two builds of one key give the same bytes; Go's own caches stay the user's.
export GOWORK=off CGO_ENABLED=0

BUILD_LOG=$CACHE/build.log
COREDNS=github.com/coredns/coredns
CONTAINERD=github.com/containerd/containerd/v2
HELM=helm.sh/helm/v4
KWOK=sigs.k8s.io/kwok
METRICS=sigs.k8s.io/metrics-server
PLUGINS=github.com/containernetworking/plugins
RUNC=github.com/opencontainers/runc
SNAPSHOTTERS_LEFT_OUT=no_btrfs,no_zfs,no_devmapper # only overlayfs is used
COMPONENTS=(etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet)

build_and_say() {
  build
  echo "built: $BUILT"
}

# build makes the programs unless they are there, and sets BUILT to their folder.
build() {
  require_go
  BUILT=$CACHE/$(programs_key)
  mkdir -p "$CACHE"
  exec 8>"$CACHE/build.lock"
  flock 8 # of two callers the second waits, then finds everything built
  if [[ ! -e $BUILT/complete ]]; then
    install_packages
    build_all
    remove_old_builds
  fi
  touch "$BUILT/complete"
  exec 8>&-
}

programs_key() {
  (
    cd "$FOLDER"
    { find go.mod go.sum metrics-server programs lib/build.sh lib/fake.sh -type f | LC_ALL=C sort | xargs sha256sum; go version; } |
      sha256sum | cut -c 1-16
  )
}

build_all() {
  BEGIN=$EPOCHREALTIME NEW=$BUILT.new
  # One more than the processors: a compiler that waits for the disk leaves no processor idle.
  GOFLAGS="$(go env GOFLAGS) -mod=readonly -buildvcs=false -trimpath -p=$(($(nproc) + 1))"
  export GOFLAGS
  rm -rf "$NEW"
  mkdir -p "$NEW/cni"
  cd "$FOLDER"
  step "modules" fetch_modules
  step "Kubernetes $(version k8s.io/kubernetes), etcd $(version go.etcd.io/etcd/server/v3)" build_kubernetes
  step "CoreDNS $(version $COREDNS)" build_program coredns ./programs/coredns
  step "containerd $(version $CONTAINERD)" build_containerd
  step "CNI plugins $(version $PLUGINS)" build_plugins
  step "runc $(version $RUNC)" build_runc
  step "helm $(version $HELM)" build_program helm $HELM/cmd/helm -X $HELM/internal/version.version="$(version $HELM)"
  step "metrics-server $(cd metrics-server && version $METRICS)" build_metrics_server
  step "kwok $(version $KWOK)" build_kwok
  step "images: pause, busybox" build_images
  touch "$NEW/complete"
  rm -rf "$BUILT"
  mv "$NEW" "$BUILT"
  echo "all of it: $(seconds_since "$BEGIN") s, $(du -sh "$BUILT" | cut -f 1)"
}

fetch_modules() {
  go list -deps -tags "$SNAPSHOTTERS_LEFT_OUT" -f '{{""}}' ./programs/... tool
  go -C metrics-server list -deps -f '{{""}}' tool
}

# step NAME COMMAND...: one line of progress; the command's output is shown when it fails.
step() {
  local name=$1 begin=$EPOCHREALTIME
  shift
  printf '%-44s' "$name"
  # In the background, because in a condition `set -e` would not hold inside the functions called.
  "$@" >"$BUILD_LOG" 2>&1 &
  if ! wait $!; then
    echo failed
    tail -n 40 "$BUILD_LOG" >&2
    fail "building stopped at: $name; all of the output: $BUILD_LOG"
  fi
  printf '%7s s\n' "$(seconds_since "$begin")"
}

version() {
  go list -m -f '{{.Version}}' "$1"
}

build_program() { # NAME PACKAGE [LINKER FLAG...]
  local name=$1 package=$2
  shift 2
  go build -ldflags "-s -w $*" -o "$NEW/$name" "$package"
}

# Kubernetes takes its version from the linker; left alone it says v0.0.0.
build_kubernetes() {
  local version major minor package flags=() component
  version=$(version k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=(-X "$package.gitVersion=$version" -X "$package.gitMajor=$major" -X "$package.gitMinor=$minor"
      -X "$package.gitTreeState=clean" -X "$package.buildDate=1970-01-01T00:00:00Z")
  done
  build_program hyperkube ./programs/hyperkube "${flags[@]}"
  for component in "${COMPONENTS[@]}"; do
    ln -s hyperkube "$NEW/$component"
  done
}

build_containerd() {
  go build -tags "$SNAPSHOTTERS_LEFT_OUT" -ldflags "-s -w -X $CONTAINERD/version.Version=$(version $CONTAINERD)" \
    -o "$NEW/" $CONTAINERD/cmd/{containerd,containerd-shim-runc-v2,ctr}
}

build_plugins() {
  go build -ldflags "-s -w" -o "$NEW/cni/" $PLUGINS/plugins/{main/bridge,main/loopback,ipam/host-local,meta/portmap}
}

# The only program with C in it: seccomp profiles are compiled by libseccomp.
build_runc() {
  local version
  version=$(version $RUNC)
  CGO_ENABLED=1 go build -tags seccomp -ldflags "-s -w -X main.version=${version#v}" -o "$NEW/runc" $RUNC
}

# A module of its own: in ours it would lift what the API server validates and merges with (cel-go,
# structured-merge-diff) above what Kubernetes was released with.
build_metrics_server() {
  cd metrics-server
  build_program metrics-server $METRICS/cmd/metrics-server -X k8s.io/client-go/pkg/version.gitVersion="$(version $METRICS)"
}

build_kwok() {
  build_program kwok $KWOK/cmd/kwok
  kwok_stages >"$NEW/kwok-stages.yaml"
}

# pause is every pod's sandbox. busybox is for `check` alone, with a webhook in it.
build_images() {
  local work=$NEW/rootfs
  build_program image ./programs/image
  mkdir -p "$work"/{pause,busybox/{bin,etc,tmp}}
  build_program rootfs/pause/pause ./programs/pause
  "$NEW/image" "$work/pause" localhost/pause:1 "$NEW/pause.tar" /pause
  chmod 1777 "$work/busybox/tmp"
  fetch_busybox "$work/busybox/bin/busybox"
  link_applets "$work/busybox/bin"
  build_program rootfs/busybox/bin/webhook ./programs/webhook
  "$NEW/image" "$work/busybox" localhost/busybox:1 "$NEW/busybox.tar"
  rm -rf "$work"
}

# Taken out of Debian's package, which is not installed: it would remove the machine's own busybox.
fetch_busybox() {
  local work
  if ! command -v apt-get >/dev/null; then
    cp "$(command -v busybox)" "$1" # one that is linked dynamically will not run in a pod
    return
  fi
  work=$(mktemp -d)
  (
    cd "$work"
    apt-get download -q busybox-static || { apt-get update -q && apt-get download -q busybox-static; }
    dpkg-deb --extract busybox-static_*.deb .
  )
  install -m 755 "$work/bin/busybox" "$1"
  rm -rf "$work"
}

link_applets() {
  local applet
  for applet in $("$1/busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$1/$applet"
  done
}

# 500 MB each: one that no branch has used for a month goes, and what a build that failed left.
remove_old_builds() {
  local old
  rm -rf "$CACHE"/*.new
  for old in "$CACHE"/*/complete; do
    if [[ -n $(find "$old" -mtime +30) ]]; then
      rm -rf "${old%/complete}"
    fi
  done
}
