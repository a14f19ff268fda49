//! Bad input is closed, counted under its reason, and reaches the app in no form.
//!
//! The classes are those of published faults: headers that never end, broken grammar and
//! structure, extensions that lie, addresses in disguise, peers whom nobody vouches for, and
//! configurations that would let everybody in.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "refusals/bench.rs"]
mod bench;
#[path = "refusals/binary.rs"]
mod binary;
#[path = "refusals/clients.rs"]
mod clients;
#[path = "refusals/peers.rs"]
mod peers;
#[path = "refusals/silence.rs"]
mod silence;
#[path = "refusals/start.rs"]
mod start;
mod support;
#[path = "refusals/text.rs"]
mod text;
#[path = "refusals/without_client.rs"]
mod without_client;
