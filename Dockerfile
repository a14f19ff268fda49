# The same images as e2e/images/build.sh makes, for people with a container engine:
#   docker build --target dataplane --tag proxyunwrap-dataplane:dev .
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /proxyunwrap
COPY . .
# The dataplane resolves no name at run time, so glibc can be linked in. --target keeps the flag
# away from build scripts and macros, which must be linked dynamically.
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --locked --release --target "$target" -p proxyunwrap-dataplane \
 && mv "target/$target/release/proxyunwrap-dataplane" /

# No shell, no libraries, no users: the program alone.
FROM scratch AS dataplane
LABEL org.opencontainers.image.title="proxyunwrap-dataplane" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.source="https://github.com/proxyunwrap/proxyunwrap" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /proxyunwrap-dataplane /proxyunwrap-dataplane
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/proxyunwrap-dataplane"]
