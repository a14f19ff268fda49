//! From start to end: privileges, reload, drain, a killed process, and what the admin port and the
//! access log say.
//!
//! The real dataplane, as uid 65532 without a capability, in a pod of its own for each test.
#![allow(clippy::panic, reason = "a panic is how a test fails")]
#![allow(
    unreachable_pub,
    reason = "nothing here is a library; `pub` marks what a module is for"
)]

#[path = "lifecycle/access_log.rs"]
mod access_log;
#[path = "lifecycle/admin.rs"]
mod admin;
#[path = "lifecycle/as_root.rs"]
mod as_root;
#[path = "lifecycle/bad_config.rs"]
mod bad_config;
#[path = "lifecycle/drain.rs"]
mod drain;
#[path = "lifecycle/engines.rs"]
mod engines;
#[path = "lifecycle/go_mmproxy.rs"]
mod go_mmproxy;
#[path = "lifecycle/privileges.rs"]
mod privileges;
#[path = "lifecycle/readiness.rs"]
mod readiness;
#[path = "lifecycle/reload.rs"]
mod reload;
#[path = "lifecycle/restart.rs"]
mod restart;
#[path = "lifecycle/start.rs"]
mod start;
mod support;
#[path = "lifecycle/workers.rs"]
mod workers;
