//! Silence, crowds and empty pockets: whoever takes up places cannot keep the others out, and
//! whoever has a place keeps it.
//!
//! The real dataplane, as uid 65532 without a capability, in a pod of its own for each test.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "limits/connections.rs"]
mod connections;
#[path = "limits/crowd.rs"]
mod crowd;
#[path = "limits/descriptors.rs"]
mod descriptors;
#[path = "limits/idle.rs"]
mod idle;
#[path = "limits/pending.rs"]
mod pending;
#[path = "limits/silence.rs"]
mod silence;
mod support;

/// A line for the end of a configuration.
fn plus(config: &str, line: &str) -> String {
    format!("{config}{line}\n")
}
