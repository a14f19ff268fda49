//! Who has not shown a header yet may lose its place; whoever has shown one never does.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpStream;

use nix::sys::signal::Signal;

use super::plus;
use crate::support::app::{self, App};
use crate::support::metrics::Metrics;
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::{wait, wire};

const EVICTED: &str = "header_errors_total{reason=\"evicted\"}";

#[test]
fn at_the_limit_of_pending_headers_the_oldest_makes_room() {
    let (stand, _app) = stand("pending", "limits: {pendingHeaders: 10}");
    let mut silent = silent(&stand, 10);
    assert_eq!(stand.metrics().get(EVICTED), 0);
    silent.push(stand.dial());
    lost(silent.remove(0));
    assert_open(&stand, &silent);
    let good = Talk::open(&stand, 0);
    lost(silent.remove(0));
    let metrics = assert_open(&stand, &silent);
    assert_eq!(metrics.get(EVICTED), 2);
    assert_eq!(metrics.ended("bad_header"), 2);
    good.ends();
    // The oldest still may finish its header.
    let late = Talk::begin(silent.remove(0), 1);
    late.is_greeted();
    late.ends();
}

#[test]
fn a_server_that_is_not_full_evicts_nobody() {
    let (stand, _app) = stand("roomy", "limits: {pendingHeaders: 10, connections: 20}");
    let silent = silent(&stand, 9);
    for number in 0..100 {
        Talk::open(&stand, number).ends();
    }
    let metrics = assert_open(&stand, &silent);
    assert_eq!(metrics.get(EVICTED), 0, "{metrics}");
    assert_eq!(metrics.sum("accept_pauses_total"), 0, "{metrics}");
}

#[test]
fn at_the_limit_of_connections_the_silent_make_room_and_the_established_stay() {
    let (stand, _app) = stand("crowded", "limits: {connections: 20}");
    let mut silent = silent(&stand, 5);
    let mut talks: Vec<_> = (0..15).map(|number| Talk::open(&stand, number)).collect();
    for number in 15..20 {
        talks.push(Talk::open(&stand, number));
        lost(silent.remove(0));
        assert_open(&stand, &silent);
    }
    let newcomer = Talk::begin(stand.dial(), 20);
    stand.metrics_when("it pauses", |metrics| {
        metrics.get("accept_pauses_total{reason=\"limit\"}") == 1
    });
    talks.iter().for_each(|talk| talk.says("still here"));
    talks.remove(0).ends();
    newcomer.is_greeted();
    let metrics = stand.metrics();
    assert_eq!(metrics.get(EVICTED), 5, "{metrics}");
}

#[test]
fn a_header_that_is_here_keeps_its_connection_from_making_room() {
    let (stand, _app) = stand("unread", "limits: {connections: 2}");
    let established = Talk::open(&stand, 0);
    let stream = silent(&stand, 1).remove(0);
    stop(&stand);
    // In this order the dataplane hears of the newcomer first.
    let newcomer = Talk::begin(stand.dial(), 1);
    let talk = Talk::begin(stream, 2);
    stand.signal(Signal::SIGCONT);
    talk.is_greeted();
    established.ends();
    newcomer.is_greeted();
    assert_eq!(stand.metrics().get(EVICTED), 0);
}

/// Waits until no thread of the dataplane runs.
#[track_caller]
fn stop(stand: &Stand) {
    stand.signal(Signal::SIGSTOP);
    let tasks = format!("/proc/{}/task", stand.pid());
    wait::until("the dataplane stops", PATIENCE, || {
        let tasks = fs::read_dir(&tasks).expect("the dataplane runs");
        let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat")).ok();
        let mut stats = tasks.flatten().filter_map(stat);
        stats.all(|stat| stat.contains(") T ")).then_some(())
    });
}

/// One worker, so that a limit is exactly what is written.
#[track_caller]
fn stand(label: &str, limits: &str) -> (Stand, App) {
    let config = with(&enrolled(PORT), "timeout: 5s", "timeout: 1m");
    let stand = Stand::new(label, &plus(&plus(&config, limits), "workers: 1"));
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    (stand, app)
}

/// Connections that say nothing, oldest first.
#[track_caller]
fn silent(stand: &Stand, count: usize) -> Vec<TcpStream> {
    let silent = stand.dial_many(count);
    assert_open(stand, &silent);
    silent
}

/// They are the ones, and the only ones, that are waited for.
#[track_caller]
fn assert_open(stand: &Stand, silent: &[TcpStream]) -> Metrics {
    let what = format!("{} are without a header", silent.len());
    let metrics = stand.metrics_when(&what, |metrics| {
        metrics.get("pending_headers") == silent.len() as u64
    });
    for stream in silent {
        stream.set_nonblocking(true).expect("it is a socket");
        let error = stream.peek(&mut [0]).expect_err("nobody answers it");
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "it is open");
        stream.set_nonblocking(false).expect("it is a socket");
    }
    metrics
}

#[track_caller]
fn lost(stream: TcpStream) {
    let client = wire::client4(0);
    Talk { stream, client }.is_reset();
}
