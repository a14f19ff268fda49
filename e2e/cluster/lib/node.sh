# shellcheck shell=bash
# The node's life: start it, wait until pods can be made, find it again.

up() {
  local begin=$EPOCHREALTIME
  require_root
  refuse_inside up
  require_place
  require_cgroups
  build
  install_packages
  require_kernel
  exec 9>"$CACHE/up.lock"
  flock --nonblock 9 || fail "another \`cluster up\` is at work"
  BEGIN=$EPOCHREALTIME # building is not part of a start
  if node_pid >/dev/null; then
    say_if_programs_differ
  else
    refuse_second_node
    start_node
  fi
  await_ready
  echo "up in $(seconds_since "$begin") s: $(inside kubectl get node "$NODE" --no-headers | tr -s ' ')"
}

# Each start begins from nothing: new certificates, empty etcd, no image but pause.
start_node() {
  make_state
  make_certificates
  write_configuration
  make_cgroups
  stage "certificates, configuration"
  start_first_process
  stage "namespaces: pid 1 of the node is $(node_pid)"
}

make_state() {
  rm -rf --one-file-system "$STATE"
  mkdir -p "$STATE"/{conf,cni,log,cache,var/{lib,log,tmp}}
  mkdir -m 700 "$STATE"/{pki,kubeconfig}
  chmod 1777 "$STATE/var/tmp"
  mkfifo -m 600 "$STATE/requests"
  ln -s /run "$STATE/var/run"
  ln -s "$BUILT" "$PROGRAMS"
  PROXY_MODE=${PROXY_MODE:-nftables}
  echo "cgroups $(cgroup_layout), kube-proxy $PROXY_MODE, since $(date '+%F %T')" >"$STATE/description"
}

start_first_process() {
  local starter _
  (
    exec 8>&- 9>&- # the locks would be held as long as the node lives
    exec_in_cgroup setsid unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc \
      --uts --ipc bash "$FOLDER/lib/node-init.sh" "$CACHE" "$(cgroup_layout)"
  ) >"$STATE/log/node.log" 2>&1 </dev/null &
  starter=$!
  disown
  for _ in {1..100}; do
    if pgrep --parent "$starter" >"$STATE/node.pid" && node_pid >/dev/null; then
      return
    fi
    sleep 0.05
  done
  fail "the node did not start: $(<"$STATE/log/node.log")"
}

# node_pid prints the pid of the node's pid 1; it fails when the cluster is down. The command line
# is compared as well: a pid file outlives a reboot, and must never name another process.
node_pid() {
  local pid
  if is_inside; then
    echo 1
    return
  fi
  { read -r pid <"$STATE/node.pid"; } 2>/dev/null || return 1
  is_node "$pid" && echo "$pid"
}

# Tests run inside, and use this program, too.
is_inside() {
  is_node 1
}

is_node() { # PID
  local arguments
  { mapfile -d '' -t arguments <"/proc/$1/cmdline"; } 2>/dev/null || return 1
  [[ ${arguments[1]-} == */node-init.sh && ${arguments[2]-} == "$CACHE" ]]
}

refuse_inside() {
  ! is_inside || fail "$1 works from outside only: this is inside the cluster"
}

# Two would share the cgroups.
refuse_second_node() {
  local other
  other=$(pgrep --full --list-full '^bash .*/lib/node-init\.sh /') || return 0
  fail "a cluster with another cache folder is up: $other; end it with the same XDG_CACHE_HOME"
}

say_if_programs_differ() {
  echo "already up ($(<"$STATE/description"))"
  [[ $(readlink "$PROGRAMS") == "$BUILT" ]] ||
    echo "it runs programs built from other sources: \`cluster down\` and \`cluster up\` bring these"
}

await_ready() {
  await "containerd has the pause image" import_image "$PROGRAMS/pause.tar"
  await "API server" inside kubectl get --raw /readyz
  await "node Ready" inside kubectl wait --for=condition=Ready "node/$NODE" --timeout=5s
  await "DNS" inside curl --silent --fail --max-time 2 http://127.0.0.1:8181/ready
  await "metrics-server" inside kubectl get --raw /apis/metrics.k8s.io/v1beta1
  # No pod can be made before it; its controller is the last to come.
  await "service account \"default\"" inside kubectl get serviceaccount default
}

await() { # WHAT COMMAND...: until the command succeeds
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >"$STATE/log/await.log" 2>&1; do
    if ((SECONDS >= end)) || ! node_pid >/dev/null || grep ' ended' "$STATE/log/node.log"; then
      tail -n 5 "$STATE"/log/*.log >&2
      fail "not reached: $what; all logs: $STATE/log; \`cluster down\` ends what did start"
    fi
    sleep 0.1
  done
  stage "$what"
}

stage() {
  printf '%6s s  %s\n' "$(seconds_since "$BEGIN")" "$1"
}
