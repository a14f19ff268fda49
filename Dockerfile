# The same images as e2e/images/build.sh makes, for people with a container engine:
#   docker build --target dataplane --tag proxyunwrap-dataplane:dev .
#   docker build --target operator --tag proxyunwrap-operator:dev .
FROM rust:1.95.0-slim-bookworm AS source
WORKDIR /proxyunwrap
COPY . .

# Neither program needs a shared library at run time, so glibc can be linked in. --target keeps the
# flag away from build scripts and macros, which must be linked dynamically.
FROM source AS build-dataplane
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --locked --release --target "$target" -p proxyunwrap-dataplane \
 && mv "target/$target/release/proxyunwrap-dataplane" /

FROM source AS build-operator
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --locked --release --target "$target" -p proxyunwrap-operator \
 && mv "target/$target/release/proxyunwrap-operator" /

# No shell, no libraries, no users: the program alone.
FROM scratch AS operator
LABEL org.opencontainers.image.title="proxyunwrap-operator" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.source="https://github.com/proxyunwrap/proxyunwrap" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build-operator /proxyunwrap-operator /proxyunwrap-operator
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/proxyunwrap-operator"]

# The last one is what `docker build` makes unless told otherwise.
FROM scratch AS dataplane
LABEL org.opencontainers.image.title="proxyunwrap-dataplane" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.source="https://github.com/proxyunwrap/proxyunwrap" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build-dataplane /proxyunwrap-dataplane /proxyunwrap-dataplane
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/proxyunwrap-dataplane"]
