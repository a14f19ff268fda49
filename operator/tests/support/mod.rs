//! Shared by the operator's integration tests; each uses a part.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod api;
pub mod certificates;
pub mod https;
pub mod wait;
