#!/bin/bash
# Shows on one machine, in network namespaces, what ProxyUnwrap does for a pod:
#
#   client                  balancer                      pod
#   192.0.2.7      <---->   HAProxy, sends the   <---->   nginx on 0.0.0.0:8080 and [::]:8080,
#   2001:db8:c::7           PROXY protocol                10.9.0.2, fd00:9::2
#
# usage: sudo e2e/demo/local.sh target/release/proxyunwrap-dataplane
# Ends with 0 when nginx saw each client's own address and port, and leaves nothing behind.
set -euo pipefail

HERE=$(dirname "$0")
CLIENT=pu-demo-client-$$ BALANCER=pu-demo-balancer-$$ POD=pu-demo-pod-$$
UNPRIVILEGED=(setpriv --reuid=65532 --regid=65532 --clear-groups
  --bounding-set=-all --inh-caps=-all --no-new-privs)
failures=0

main() {
  [[ -x ${1-} ]] || fail "usage: $0 path/to/proxyunwrap-dataplane"
  ((EUID == 0)) || fail "network namespaces need root: sudo $0 $1"
  "$HERE/../packages.sh"
  work=$(mktemp -d /tmp/proxyunwrap-demo-XXXXXX)
  trap clean_up EXIT
  trap 'exit 130' INT TERM
  chmod 755 "$work" # uid 65532 and www-data read here
  install -m 755 "$1" "$work/proxyunwrap-dataplane"
  install -m 644 "$HERE"/{config.yaml,nginx.conf,haproxy.cfg} "$work"

  lay_cables
  start_nginx
  start_haproxy

  echo "BEFORE: nginx behind HAProxy, without ProxyUnwrap; the client is 192.0.2.7"
  before 8001 "no header sent"
  before 8002 "send-proxy"
  before 8003 "send-proxy-v2"

  echo
  echo "proxyunwrap-dataplane init   as root, once"
  start_dataplane
  echo "proxyunwrap-dataplane serve  as uid 65532; from /proc/$serve/status:"
  privileges

  echo
  echo "AFTER: the same nginx, the same HAProxy"
  after 8002 41001 "send-proxy"    192.0.2.7     192.0.2.1
  after 8002 41002 "send-proxy"    2001:db8:c::7 2001:db8:c::1
  after 8003 41003 "send-proxy-v2" 192.0.2.7     192.0.2.1
  after 8003 41004 "send-proxy-v2" 2001:db8:c::7 2001:db8:c::1

  echo
  echo "ProxyUnwrap's own access log, one of the lines:"
  until_true "a line in the access log" grep -q '"outcome"' "$work/serve.out"
  echo "  $(grep '"outcome"' "$work/serve.out" | tail -n 1)"
  ((failures == 0)) || fail "$failures of the promises above did not hold"
}

fail() {
  echo "local.sh: $*" >&2
  exit 1
}

clean_up() {
  local namespace
  for namespace in "$CLIENT" "$BALANCER" "$POD"; do
    ip netns pids "$namespace" 2>/dev/null | xargs --no-run-if-empty kill -KILL 2>/dev/null || true
    ip netns del "$namespace" 2>/dev/null || true
  done
  rm -rf "$work"
}

# until_true WHAT COMMAND...: waits for a condition, at most ten seconds.
until_true() {
  local what=$1 end=$((SECONDS + 10))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { tail -n 5 "$work"/*.out >&2; fail "gave up waiting for $what"; }
    sleep 0.05
  done
}

listens() { [[ -n $(ip netns exec "$1" ss -Hltn "sport = :$2") ]]; }

lay_cables() {
  local namespace
  for namespace in "$CLIENT" "$BALANCER" "$POD"; do
    ip netns add "$namespace"
    ip -n "$namespace" link set lo up
  done
  cable "$CLIENT" front 192.0.2.7/24 192.0.2.1/24 2001:db8:c::7/64 2001:db8:c::1/64
  cable "$POD" back 10.9.0.2/24 10.9.0.1/24 fd00:9::2/64 fd00:9::1/64
}

# cable NAMESPACE BALANCER_INTERFACE OWN4 THEIRS4 OWN6 THEIRS6
cable() {
  ip -n "$1" link add eth0 type veth peer name "$2" netns "$BALANCER"
  ip -n "$1" link set eth0 up
  ip -n "$BALANCER" link set "$2" up
  ends "$1" "$2" "$3" "$4"
  ends "$1" "$2" "$5" "$6" nodad
}

# ends NAMESPACE BALANCER_INTERFACE OWN THEIRS [nodad]: addresses, usable at once.
ends() {
  ip -n "$1" addr add "$3" dev eth0 "${@:5}"
  ip -n "$BALANCER" addr add "$4" dev "$2" "${@:5}"
  ip -n "$1" route add default via "${4%/*}"
}

# disown: bash then says nothing when clean_up ends them.
start_nginx() {
  ip netns exec "$POD" nginx -p "$work" -c "$work/nginx.conf" >"$work/nginx.out" 2>&1 &
  disown
  until_true "nginx" listens "$POD" 8080
}

start_haproxy() {
  ip netns exec "$BALANCER" haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.out" 2>&1 &
  disown
  until_true "haproxy" listens "$BALANCER" 8003
}

start_dataplane() {
  local dataplane=$work/proxyunwrap-dataplane config=$work/config.yaml
  ip netns exec "$POD" "$dataplane" init --config "$config" | sed 's/^/    /'
  ip netns exec "$POD" "${UNPRIVILEGED[@]}" "$dataplane" serve --config "$config" \
    >"$work/serve.out" 2>&1 &
  serve=$! # every program of this line replaces the one before: the pid is the dataplane's
  disown
  until_true "serve" listens "$POD" 15001
}

privileges() {
  local name value _
  while read -r name value _; do
    case $name in
      Uid:) check "$value" 65532 "$name $value" ;;
      CapPrm: | CapEff: | CapBnd:) check "$value" 0000000000000000 "$name $value" ;;
      NoNewPrivs:) check "$value" 1 "$name $value" ;;
    esac
  done <"/proc/$serve/status"
}

# before PORT WHAT: what nginx makes of a connection that comes through this listener.
before() {
  fetch "$1" 192.0.2.7 192.0.2.1
  printf '    %-14s nginx: %.70s\n' "$2" "$logged"
}

# after PORT LOCAL_PORT WHAT CLIENT FRONT: nginx must name exactly this client and port.
after() {
  fetch "$1" "$4" "$5" --local-port "$2"
  check "${logged%%  *}" "$4 port $2" "$(printf '%-14s nginx: %s' "$3" "$logged")"
}

# fetch PORT CLIENT FRONT [CURL_OPTIONS]: leaves in $logged the line that nginx writes about it.
fetch() {
  local url="http://$3:$1/" client=$2
  [[ $3 != *:* ]] || url="http://[$3]:$1/"
  shift 3
  : >"$work/nginx-access.log"
  # A request that fails still has its line, and the line is what we look at.
  ip netns exec "$CLIENT" curl -sS -o /dev/null --max-time 5 --interface "$client" "$@" "$url" \
    2>>"$work/curl.out" || true
  until_true "nginx's access log" test -s "$work/nginx-access.log"
  logged=$(head -n 1 "$work/nginx-access.log")
}

# check FOUND WANTED TEXT: a mark before the text; a wrong one is counted.
check() {
  if [[ $1 == "$2" ]]; then
    echo "  ✔ $3"
  else
    echo "  ✘ $3   (wanted: $2)"
    failures=$((failures + 1))
  fi
}

main "$@"
