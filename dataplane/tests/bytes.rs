//! The app's bytes are the payload, exactly, however they are cut, delayed or ended.
//!
//! The real dataplane, as uid 65532 without a capability, in a pod of its own for each test.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "bytes/ends.rs"]
mod ends;
#[path = "bytes/memory.rs"]
mod memory;
#[path = "bytes/pattern.rs"]
mod pattern;
#[path = "bytes/splits.rs"]
mod splits;
#[path = "bytes/streams.rs"]
mod streams;
mod support;
#[path = "bytes/urgent.rs"]
mod urgent;
