#!/bin/bash
# Makes every image that the end-to-end tests need, without a container engine: archives in
# target/images, for `e2e/cluster/cluster load` and `e2e/kind/cluster load`. Needs the packages of
# e2e/packages.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

OUT=target/images
MAX_BYTES=$((10 * 1000 * 1000)) # of the dataplane's image
MAX_OPERATOR=$((25 * 1000 * 1000))

main() {
  local target programs
  target=$(rustc -vV | sed -n 's/^host: //p')
  programs=target/$target/release
  build_static "$target" -p proxyunwrap-dataplane
  # Without the optimisation across crates these are built in a third of the time. The Dockerfile
  # makes the operator with it: smaller, and no faster where it matters.
  quick "$target" -p proxyunwrap-operator
  quick "$target" -p proxyunwrap-e2e --bin testapp
  cargo build --locked -p proxyunwrap-e2e --bin image
  mkdir -p "$OUT"

  program proxyunwrap-dataplane --at-most "$MAX_BYTES" "$programs/proxyunwrap-dataplane"
  # What an upgrade brings: the same program under another tag is another image to the operator.
  TAG=next program proxyunwrap-dataplane "$programs/proxyunwrap-dataplane"
  program proxyunwrap-operator --at-most "$MAX_OPERATOR" "$programs/proxyunwrap-operator"
  program testapp "$programs/testapp"
  # nginx and HAProxy take SIGTERM for "at once", and have other signals for "when all is answered".
  packages nginx --entrypoint /usr/sbin/nginx --stop-signal SIGQUIT nginx
  packages haproxy --entrypoint /usr/sbin/haproxy --stop-signal SIGUSR1 haproxy
  packages node --entrypoint /testapp --with "$programs/testapp" curl iproute2 nftables
}

# One package a time: features of one would otherwise reach the other.
# --target keeps the flag away from build scripts and macros, which must be linked dynamically.
build_static() {
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --target "$@"
}

quick() {
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 build_static "$@"
}

program() { image program "$@"; }
packages() { image packages "$@"; }

# image KIND NAME ARGUMENTS...
image() {
  local kind=$1 name=$2 tag=${TAG:-dev}
  shift 2
  target/debug/image "$kind" --name "localhost/$name:$tag" --out "$OUT/$name-$tag.tar" "$@"
}

main
