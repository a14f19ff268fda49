//! Silent peers: they hold descriptors, never the service.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::crowd::{Guest, arrive, config};
use crate::support::app::{self, App};
use crate::support::metrics::Metrics;
use crate::support::stand::Stand;
use crate::support::wire;

const SILENT: usize = 10_000;

/// Descriptors of the dataplane, whatever the machine allows: (20,000 - 64) / 2 connections.
const NOFILE: &str = "--nofile=20000:20000";

/// As in the configuration.
const DEADLINE: Duration = Duration::from_secs(5);

/// How far behind its deadline a connection may end on a busy machine.
const LATE: Duration = Duration::from_secs(10);

const EVICTED: &str = r#"header_errors_total{reason="evicted"}"#;
const TIMED_OUT: &str = r#"header_errors_total{reason="timed_out"}"#;

#[test]
fn ten_thousand_silent_peers_neither_stop_a_good_one_nor_outlive_the_deadline() {
    let config = config("{}");
    let mut stand = Stand::prepared("silent", &config);
    stand.start_under(&["prlimit", NOFILE], &config);
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let start = Instant::now();
    let mut silent = Vec::new();
    for round in 0..10 {
        silent.extend(stand.dial_many(SILENT / 10));
        let good = arrive(&stand, round..round + 1);
        good.into_iter().for_each(works_and_leaves);
    }
    let (arrived, resident) = (start.elapsed(), stand.resident_kib());
    silent.iter().for_each(is_closed);
    let closed = start.elapsed();
    eprintln!(
        "{SILENT} silent peers came in {arrived:?}, were gone after {closed:?}, {resident} KiB"
    );
    assert!(closed <= arrived + DEADLINE + LATE, "after {closed:?}");
    let all = SILENT as u64;
    let metrics = stand.metrics_when("all are counted", |m| bad_headers(m) == all);
    assert_eq!(metrics.ended("ok"), 10);
    arrive(&stand, 10..11)
        .into_iter()
        .for_each(works_and_leaves);
}

#[test]
fn at_the_limit_the_oldest_silent_peer_makes_room() {
    let stand = Stand::new("evict", &config("{connections: 100}"));
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let good = arrive(&stand, 0..20);
    good.iter().for_each(Guest::is_greeted);
    let silent = stand.dial_many(500);
    let late = arrive(&stand, 20..40);
    for (number, guest) in late.iter().enumerate() {
        guest.is_greeted();
        guest.works(&format!("late {number}"));
    }
    for guest in good {
        guest.works("still here");
        guest.leave();
    }
    let metrics = stand.metrics();
    assert!(metrics.get(EVICTED) >= 400, "the others made room");
    assert!(metrics.get("open_connections") <= 100);
    silent.iter().for_each(is_closed);
    let metrics = stand.metrics_when("all are counted", |m| bad_headers(m) == 500);
    assert!(metrics.get(TIMED_OUT) > 0, "the last end at their deadline");
    late.into_iter().for_each(Guest::leave);
}

#[test]
fn the_limit_of_pending_headers_leaves_established_connections_alone() {
    let stand = Stand::new("pending", &config("{connections: 400, pendingHeaders: 40}"));
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let good = arrive(&stand, 0..100);
    good.iter().for_each(Guest::is_greeted);
    let silent = stand.dial_many(200);
    let metrics = stand.metrics_when("most made room", |m| m.get(EVICTED) >= 160);
    assert!(metrics.get("pending_headers") <= 40);
    good.iter().for_each(|guest| guest.works("still here"));
    silent.iter().for_each(is_closed);
    good.into_iter().for_each(Guest::leave);
}

#[track_caller]
fn works_and_leaves(guest: Guest) {
    guest.is_greeted();
    guest.works("good");
    guest.leave();
}

/// Closed or reset without a byte.
#[track_caller]
fn is_closed(stream: &TcpStream) {
    wire::ended(stream).unwrap_or_else(|error| panic!("{error}"));
}

fn bad_headers(metrics: &Metrics) -> u64 {
    metrics.get(EVICTED) + metrics.get(TIMED_OUT)
}
