//! kubelet's probes, answered on the admin port in place of the app: healthy apps, ill ones, none.
//!
//! The balancer's namespace asks, as a node would; the apps are real and listen on loopback alone.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "probes/asker.rs"]
mod asker;
#[path = "probes/failures.rs"]
mod failures;
#[path = "probes/grpc.rs"]
mod grpc;
#[path = "probes/hooks.rs"]
mod hooks;
#[path = "probes/http.rs"]
mod http;
#[path = "probes/start.rs"]
mod start;
mod support;
