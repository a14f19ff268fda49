//! More than can be served: nobody's silence, number or descriptors stop those who are served.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "limits/crowd.rs"]
mod crowd;
#[path = "limits/descriptors.rs"]
mod descriptors;
#[path = "limits/established.rs"]
mod established;
#[path = "limits/silent.rs"]
mod silent;
mod support;
