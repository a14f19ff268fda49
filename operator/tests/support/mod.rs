//! What the operator's tests share: the folders of `cases/`, and a small API server in memory.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

pub mod any;
pub mod api;
pub mod case;
pub mod certificates;
pub mod future;
pub mod https;
pub mod wait;
