//! Descriptors that run out: at the limit we know of, and below it.

use std::fs;
use std::process::Command;

use super::crowd::{Guest, arrive, config, serve};
use crate::support::app::{self, App};
use crate::support::stand::{PATIENCE, Stand};
use crate::support::wait;

#[test]
fn a_low_limit_of_descriptors_limits_connections_before_it_is_reached() {
    let config = config("{}");
    let mut stand = Stand::prepared("nofile", &config);
    // (264 - 64) / 2 connections.
    stand.start_under(&["prlimit", "--nofile=264:264"], &config);
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let mut waiting = arrive(&stand, 0..300);
    let mut served = Vec::new();
    serve(&mut waiting, &mut served, 100);
    let metrics = stand.metrics();
    assert_eq!(metrics.get("open_connections"), 100);
    assert_eq!(metrics.get(r#"accept_pauses_total{reason="exhausted"}"#), 0);
    assert_eq!(metrics.sum("dial_errors_total"), 0);
    while !served.is_empty() {
        served.iter().for_each(Guest::is_greeted);
        served.drain(..).for_each(Guest::leave);
        let least = usize::from(!waiting.is_empty());
        serve(&mut waiting, &mut served, least);
    }
    stand.metrics_when("all have ended in order", |m| m.ended("ok") == 300);
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let stand = Stand::new("emfile", &config("{}"));
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let early = arrive(&stand, 0..10);
    early.iter().for_each(Guest::is_greeted);
    // Somebody lowers the limit under the running process: room for five more connections.
    let limit = stand.metrics().get("process_open_fds") + 10;
    lower(&stand, limit);
    let crowd = arrive(&stand, 10..60);
    wait::until("no descriptor is left", PATIENCE, || {
        (descriptors(&stand) + 1 >= limit).then_some(())
    });
    early.iter().for_each(|guest| guest.works("still here"));
    drop(crowd);
    early.into_iter().for_each(Guest::leave);
    let metrics = stand.metrics_when("the crowd is gone", |m| m.get("open_connections") == 0);
    // Where one descriptor is left, it is the dial that finds none.
    let pauses = metrics.get(r#"accept_pauses_total{reason="exhausted"}"#);
    let dials = metrics.get(r#"dial_errors_total{reason="exhausted"}"#);
    assert!(pauses + dials > 0, "{metrics}");
    for number in 60..80 {
        for guest in arrive(&stand, number..number + 1) {
            guest.is_greeted();
            guest.leave();
        }
    }
}

#[track_caller]
fn lower(stand: &Stand, limit: u64) {
    // A process of the same user may; for another user's root needs SYS_RESOURCE.
    let status = Command::new("setpriv")
        .args([
            "--reuid=65532",
            "--regid=65532",
            "--clear-groups",
            "prlimit",
        ])
        .arg(format!("--pid={}", stand.pid()))
        .arg(format!("--nofile={limit}:{limit}"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "prlimit");
}

fn descriptors(stand: &Stand) -> u64 {
    let entries = fs::read_dir(format!("/proc/{}/fd", stand.pid()));
    entries.expect("it runs").count() as u64
}
