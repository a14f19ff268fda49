//! `init` in real network namespaces: what it makes, what it undoes, and what works meanwhile.
//!
//! Needs root, iproute2, nftables and util-linux; a test that lacks them fails and says so.

#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

mod support;

#[path = "routes/guard.rs"]
mod guard;
#[path = "routes/idempotence.rs"]
mod idempotence;
#[path = "routes/path_mtu.rs"]
mod path_mtu;
#[path = "routes/pod.rs"]
mod pod;
#[path = "routes/privileges.rs"]
mod privileges;
#[path = "routes/refusals.rs"]
mod refusals;
#[path = "routes/traffic.rs"]
mod traffic;
#[path = "routes/undo.rs"]
mod undo;
#[path = "routes/verify.rs"]
mod verify;
