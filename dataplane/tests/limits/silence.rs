//! Peers that say nothing, or next to nothing, are closed in time and keep nobody out meanwhile.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::crowd::{self, Close, Crowd};
use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire;

const SILENT: usize = 10_000;

const TIMED_OUT: &str = "header_errors_total{reason=\"timed_out\"}";
const EVICTED: &str = "header_errors_total{reason=\"evicted\"}";

/// Between two good connections, so that their ports do not run short.
const PACE: Duration = Duration::from_millis(2);

/// `header.timeout` of these tests.
const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_secs(3);

/// A deadline counts from accept, by the clock of the turn in which that was.
const EARLY: Duration = Duration::from_millis(250);
/// Accept comes after connect, and a busy machine closes late.
const LATE: Duration = Duration::from_secs(2);

#[test]
fn ten_thousand_silent_peers_cannot_stop_a_good_one() {
    let stand = Stand::new(
        "silent",
        &with(&enrolled(PORT), "mode: all", "mode: errors"),
    );
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::report);
    crowd::prepare(&stand);
    let (closes, served) = thread::scope(|scope| {
        let (running, over) = channel();
        let good = scope.spawn(|| serve_until(&stand, &{ over }));
        let mut crowd = Crowd::open(&stand, SILENT);
        assert!(
            crowd.took < LONG,
            "too slow for this test: {:?}",
            crowd.took
        );
        stand.metrics_when("all of them were accepted", |metrics| {
            metrics.get("pending_headers") + metrics.get(EVICTED) >= SILENT as u64
        });
        let kib = stand.resident_kib();
        eprintln!("{SILENT} connected in {:?}, {kib} KiB resident", crowd.took);
        let closes = crowd.closes(&[]);
        drop::<Sender<()>>(running);
        (closes, good.join().expect("good peers are served"))
    });
    let (timed_out, evicted) = (closed(&closes, false), closed(&closes, true));
    let metrics = stand.metrics_when("all have ended", |m| m.ended("ok") == served.len() as u64);
    let lost = metrics.get("access_log_lost_total");
    eprintln!("{timed_out} timed out, {evicted} evicted, {lost} log lines lost");
    eprintln!(
        "{} good ones served, the slowest in {:?}",
        served.len(),
        served.iter().max()
    );
    assert_in_time(closes.iter().filter(|close| !close.reset), LONG);
    assert_eq!(metrics.get(TIMED_OUT), timed_out);
    assert_eq!(metrics.get(EVICTED), evicted);
    assert!(evicted > 0, "the oldest made room");
}

#[test]
fn a_silent_or_trickling_peer_is_closed_at_the_deadline() {
    let config = with(&enrolled(PORT), "timeout: 5s", "timeout: 3s");
    let stand = Stand::new("trickle", &config);
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::report);
    crowd::prepare(&stand);
    let v1 = wire::v1(wire::client4(0));
    let v2 = wire::v2_of(300, wire::client4(0));
    thread::scope(|scope| {
        for header in [&[][..], &v1, &v2] {
            let stand = &stand;
            scope.spawn(move || {
                let closes = Crowd::open(stand, 100).closes(header);
                assert_in_time(&closes, SHORT);
            });
        }
    });
    let metrics = stand.metrics();
    assert_eq!(metrics.get(TIMED_OUT), 300);
    assert_eq!(metrics.get("open_connections"), 0);
}

/// Good connections, one after the other; answers how long each took.
#[track_caller]
fn serve_until(stand: &Stand, over: &Receiver<()>) -> Vec<Duration> {
    let mut took = Vec::new();
    while over.try_recv() == Err(TryRecvError::Empty) {
        let client = wire::client4(took.len());
        let start = Instant::now();
        let request = [&wire::v1(client)[..], b"hello"].concat();
        let answer = wire::exchange(&stand.dial(), &request);
        assert_eq!(answer, format!("{client} hello"));
        took.push(start.elapsed());
        thread::park_timeout(PACE);
    }
    took
}

#[track_caller]
fn assert_in_time<'a>(closes: impl IntoIterator<Item = &'a Close>, timeout: Duration) {
    let mut after: Vec<_> = closes.into_iter().map(|close| close.after).collect();
    after.sort_unstable();
    let (Some(first), Some(last)) = (after.first(), after.last()) else {
        panic!("nobody was closed at the deadline");
    };
    let middle = after[after.len() / 2];
    eprintln!("{timeout:?}: closed after {first:?} at least, {middle:?}, {last:?} at most");
    assert!(*first >= timeout - EARLY, "closed too early: {first:?}");
    assert!(*last <= timeout + LATE, "closed too late: {last:?}");
}

fn closed(closes: &[Close], reset: bool) -> u64 {
    closes.iter().filter(|close| close.reset == reset).count() as u64
}
