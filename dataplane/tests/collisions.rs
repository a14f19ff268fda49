//! The client's address and port are kept where the kernel can keep them; where it cannot, the
//! connection works all the same, and `dials_total` says how.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "collisions/absent.rs"]
mod absent;
#[path = "collisions/families.rs"]
mod families;
#[path = "collisions/ports.rs"]
mod ports;
mod support;
#[path = "collisions/talk.rs"]
mod talk;
#[path = "collisions/tuples.rs"]
mod tuples;
