//! The promise of the product, with the software people run: whichever balancer sends the PROXY
//! header, an app that never heard of it sees its client's own address and port.
//!
//! Senders and receivers are Debian's packages (`e2e/packages.sh` installs them), each in a network
//! namespace, joined as in `support/lab.rs`. The apps bind every address on the port that peers
//! dial, as apps do; the dataplane runs as uid 65532 without a capability.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "interop/haproxy.rs"]
mod haproxy;
#[path = "interop/postfix.rs"]
mod postfix;
#[path = "interop/receivers.rs"]
mod receivers;
#[path = "interop/redis.rs"]
mod redis;
#[path = "interop/senders.rs"]
mod senders;
#[path = "interop/sshd.rs"]
mod sshd;
mod support;
#[path = "interop/wire.rs"]
mod wire;
