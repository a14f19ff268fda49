//! What the tests share: private networks, programs in them, and waits for a condition.
//!
//! Everything here needs root and iproute2; a test that lacks them fails and says so.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod namespace;
pub mod process;
pub mod wait;
