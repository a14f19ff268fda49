# shellcheck shell=bash
# What the machine must have. Each thing that is missing is said with its fix.

PACKAGES_TO_BUILD=(ca-certificates gcc libc6-dev libseccomp-dev pkg-config) # runc links libseccomp
PACKAGES_TO_RUN=(curl iproute2 iptables nftables openssl procps util-linux)

require_root() {
  # shellcheck disable=SC2016 # $PATH is for the reader's shell
  ((EUID == 0)) || fail 'needs root: sudo env "PATH=$PATH" "HOME=$HOME" e2e/cluster/cluster ...'
}

# The go line of go.mod is the one home of the least version: containerd asks for it.
require_go() {
  local least has
  # shellcheck disable=SC2153 # FOLDER is set by `cluster`
  least=$(awk '$1 == "go" { print $2 }' "$FOLDER/go.mod")
  command -v go >/dev/null ||
    fail "no go on the PATH: install Go $least or later (go.dev/dl) and add its bin folder to the PATH"
  # In the module's folder, as Go may fetch the version that go.mod asks for (GOTOOLCHAIN=auto).
  has=$(cd "$FOLDER" && go env GOVERSION) || fail "go does not run: see above"
  has=${has#go}
  [[ $(printf '%s\n' "$least" "${has%% *}" | sort -V | head -n 1) == "$least" ]] ||
    fail "Go is $has, go.mod asks for $least: install it (from Go 1.21 on, GOTOOLCHAIN=auto fetches it)"
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    require_programs
    return
  fi
  mapfile -t missing < <(packages_missing "${PACKAGES_TO_BUILD[@]}" "${PACKAGES_TO_RUN[@]}")
  ((${#missing[@]} > 0)) || return 0
  ((EUID == 0)) || fail "packages are missing: sudo apt-get install ${missing[*]}"
  step "Debian packages: ${missing[*]}" apt_install "${missing[@]}"
}

packages_missing() {
  comm -23 <(printf '%s\n' "$@" | sort) <(packages_installed "$@" | sort)
}

packages_installed() {
  dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
}

apt_install() {
  apt-get update -q || true # an old list may still do
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@" </dev/null
}

# On a system without dpkg the programs are looked for themselves.
require_programs() {
  local program missing=()
  for program in curl gcc ip iptables nft nsenter openssl pgrep pkg-config unshare; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  ((${#missing[@]} == 0)) ||
    fail "programs are missing: ${missing[*]}; install what Debian calls: ${PACKAGES_TO_BUILD[*]} ${PACKAGES_TO_RUN[*]}"
}

require_kernel() {
  local said
  has_filesystem overlay || fail "the kernel has no overlayfs: modprobe overlay, or CONFIG_OVERLAY_FS=y"
  [[ -d /proc/sys/net/bridge ]] || modprobe br_netfilter 2>/dev/null ||
    fail "the kernel has no br_netfilter: modprobe br_netfilter, or CONFIG_BRIDGE_NETFILTER=y"
  [[ -e /proc/net/if_inet6 ]] ||
    fail "the kernel has no IPv6: boot without ipv6.disable=1 (pods and Services have both families)"
  said=$(unshare --net bash -euc "$KERNEL_TRIAL" 2>&1) ||
    fail "the kernel refused part of a pod's network: $said; it needs veth, bridge and nf_tables with NAT (CONFIG_VETH, CONFIG_BRIDGE, CONFIG_NF_TABLES, CONFIG_NFT_NAT, CONFIG_NFT_MASQ, CONFIG_NFT_CT)"
}

# Tried in a network namespace that ends with the command. Trying beats reading a kernel's
# configuration, which may be absent, and loads what is a module.
KERNEL_TRIAL='
  exec 2>&1
  ip link add cluster0 type veth peer name cluster1
  ip link add cluster2 type bridge
  nft add table ip trial
  nft "add chain ip trial nat { type nat hook prerouting priority -100; }"
  nft "add chain ip trial post { type nat hook postrouting priority 100; }"
  nft "add rule ip trial nat ct state new tcp dport 80 dnat to 10.0.0.1:80"
  nft "add rule ip trial post masquerade"
'

has_filesystem() {
  grep -qw "$1" /proc/filesystems || { modprobe "$1" 2>/dev/null && grep -qw "$1" /proc/filesystems; }
}

# /var, /run, /sys and /proc inside the node are its own: our files must be seen from both sides.
require_place() {
  local folder
  folder=$(mkdir -p "$CACHE" && cd "$CACHE" && pwd -P) || fail "cannot make $CACHE: set XDG_CACHE_HOME"
  case $folder/ in
    /var/* | /run/* | /sys/* | /proc/*) fail "$folder is not seen inside the node: set XDG_CACHE_HOME to another place" ;;
  esac
  [[ $(stat -f -c %T "$folder") != overlayfs ]] ||
    fail "$folder is on overlayfs, which holds no container's file system: set XDG_CACHE_HOME to a real disk"
}
