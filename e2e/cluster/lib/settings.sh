# shellcheck shell=bash disable=SC2034
# Where things are and which addresses they have. Sourced by `cluster` and by node-init.sh.

CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/proxyunwrap/cluster
STATE=$CACHE/state       # one run of the cluster, made anew by each `up`
PROGRAMS=$STATE/programs # a link to the programs that this run was started with

NODE=node1
NODE4=10.99.0.1 NODE6=fd00:10:99::1
PODS4=10.244.0.0/24 PODS6=fd00:10:244::/64
SERVICES4=10.96.0.0/16 SERVICES6=fd00:10:96::/112
API4=10.96.0.1 # the first address of SERVICES4, as Kubernetes chooses it
DNS4=10.96.0.10 DNS6=fd00:10:96::a

METRICS_PORT=4443 # metrics-server's, on NODE4
KWOK_LOG=$STATE/log/kwok.log

NOWHERE=nowhere0 # the node's way out
BRIDGE=podbridge0 # what pods are on

# Seconds to wait for each thing while starting; more for a machine without hardware of its own.
PATIENCE=${CLUSTER_PATIENCE:-60}

# Our folder in every cgroup hierarchy of the machine.
CGROUP=proxyunwrap-cluster

fail() {
  echo "cluster: $*" >&2
  exit 1
}

# Seconds since a time taken from EPOCHREALTIME, with one decimal.
seconds_since() {
  local microseconds=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
  printf '%d.%d' $((microseconds / 1000000)) $((microseconds / 100000 % 10))
}
