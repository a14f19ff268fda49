//! What the tests share: private networks, programs in them, and waits for a condition.
//!
//! Everything here needs root and iproute2; a test that lacks them fails and says so.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

pub mod namespace;
pub mod process;
pub mod wait;
