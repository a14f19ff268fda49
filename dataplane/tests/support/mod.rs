//! What the tests share: private networks, a pod in them, programs, and waits for a condition.
//!
//! Everything here needs root and iproute2; a test that lacks them fails and says so.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

pub mod app;
pub mod http;
pub mod lab;
pub mod metrics;
pub mod namespace;
pub mod nginx;
pub mod pod;
pub mod process;
pub mod queues;
pub mod stand;
pub mod talk;
pub mod tls;
pub mod wait;
pub mod wire;
