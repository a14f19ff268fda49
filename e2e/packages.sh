#!/bin/bash
# Installs the Debian packages that the namespace tests, the chart's check and the demos run.
# It changes nothing when they are here already, and installing starts no service.
set -euo pipefail

PACKAGES=(
  iproute2 nftables procps util-linux       # namespaces, rules, ss, setpriv
  curl openssl openssh-client redis-tools   # clients
  haproxy                                   # balancer
  nginx-light libnginx-mod-stream           # balancer and app
  openssh-server postfix redis-server       # apps
  python3-grpcio                            # an app that speaks gRPC
  jq prometheus                             # the chart's alerts and dashboard
  valgrind                                  # counts instructions
  strace                                    # the benchmark's count of system calls
)
# What these packages would start at the next boot.
SERVICES=(haproxy nginx postfix prometheus redis-server ssh)

POLICY=/usr/sbin/policy-rc.d

main() {
  local package missing=()
  command -v apt-get >/dev/null || fail "apt-get is not here; on another system install: ${PACKAGES[*]}"
  for package in "${PACKAGES[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  ((EUID == 0)) || fail "installing needs root: sudo $0 (missing: ${missing[*]})"
  echo "packages.sh: installing ${missing[*]}"
  forbid_starting_services
  install_quietly "${missing[@]}"
  keep_services_off_at_boot "${missing[@]}"
}

fail() {
  echo "packages.sh: $*" >&2
  exit 1
}

is_installed() {
  [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# invoke-rc.d asks this file before it starts anything; 101 means no. One that is there comes back.
forbid_starting_services() {
  if [[ -e $POLICY ]]; then
    mv "$POLICY" "$POLICY.proxyunwrap"
  fi
  trap allow_starting_services EXIT
  printf '#!/bin/sh\nexit 101\n' >"$POLICY"
  chmod 755 "$POLICY"
}

allow_starting_services() {
  rm -f "$POLICY"
  if [[ -e $POLICY.proxyunwrap ]]; then
    mv "$POLICY.proxyunwrap" "$POLICY"
  fi
}

install_quietly() {
  local log
  log=$(mktemp)
  if ! { apt-get update -qq && install_packages "$@"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "apt-get did not install: $*"
  fi
  rm -f "$log"
}

install_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@" </dev/null
}

# Only services that came with this run: one that was here before is its owner's business.
keep_services_off_at_boot() {
  local service
  command -v systemctl >/dev/null || return 0
  for service in "${SERVICES[@]}"; do
    case " $* " in
      *" $service "* | *" $service-light "* | *" open$service-server "*)
        systemctl disable --quiet "$service" 2>/dev/null || true ;;
    esac
  done
}

main
