//! How it ends: in order if it may, in time in any case.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::app::{self, App};
use crate::support::lab::POD4;
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::talk::Talk;
use crate::support::{wait, wire};

fn stand(label: &str, drain: &str) -> (Stand, App) {
    let stand = Stand::new(
        label,
        &format!("{}drain: {{timeout: {drain}}}\n", enrolled(PORT)),
    );
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    (stand, app)
}

/// Waits until nothing listens for what peers dial at this port.
#[track_caller]
pub fn refuses_newcomers(stand: &Stand, port: u16) {
    wait::until("newcomers are refused", PATIENCE, || {
        let dial = || TcpStream::connect((POD4, port));
        let error = stand.lab.balancer.enter(dial).err()?;
        (error.kind() == ErrorKind::ConnectionRefused).then_some(())
    });
}

#[test]
fn sigterm_finishes_what_is_open_refuses_newcomers_and_ends_with_0() {
    let (mut stand, _app) = stand("term", "20s");
    let talk = Talk::open(&stand, 1);
    // Half a header: accepted, so it is served, too.
    let (late, header) = (stand.dial(), wire::v1(wire::client4(2)));
    let (first, rest) = header.split_at(20);
    wire::send(&late, first);
    stand.metrics_when("it is accepted", |metrics| {
        metrics.get("pending_headers") == 1
    });
    stand.signal(Signal::SIGTERM);
    refuses_newcomers(&stand, PORT);
    let ready = stand.ask("GET", "/readyz");
    assert_eq!((ready.status, ready.body.as_str()), (503, "draining\n"));
    talk.says("still here");
    talk.ends();
    wire::send(&late, rest);
    let late = Talk {
        stream: late,
        client: wire::client4(2),
    };
    late.is_greeted();
    late.ends();
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let log = stand.access_log().into_iter();
    let mut outcomes: Vec<_> = log.map(|line| line["outcome"].clone()).collect();
    // Those that tried whether newcomers are refused already.
    outcomes.retain(|outcome| outcome != "empty_probe");
    assert_eq!(
        outcomes,
        ["ok", "ok"],
        "the last line was written before the end"
    );
}

#[test]
fn what_is_open_at_the_drain_deadline_is_cut() {
    let (mut stand, _app) = stand("deadline", "1s");
    let talk = Talk::open(&stand, 1);
    let start = Instant::now();
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let took = start.elapsed();
    eprintln!("drain.timeout 1s: ended after {took:?}");
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    talk.is_reset();
    let log = stand.access_log();
    let outcomes: Vec<_> = log.iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["drained"]);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (mut stand, _app) = stand("twice", "60s");
    let talk = Talk::open(&stand, 1);
    stand.signal(Signal::SIGTERM);
    refuses_newcomers(&stand, PORT);
    let start = Instant::now();
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(Duration::from_secs(10)), Some(0));
    eprintln!("second signal: ended after {:?}", start.elapsed());
    talk.is_reset();
}

#[test]
fn asked_to_drain_it_is_unready_and_still_accepts() {
    let (stand, _app) = stand("unready", "20s");
    stand.metrics_when("the self-test passes", |metrics| metrics.get("ready") == 1);
    assert_eq!(stand.ask("POST", "/drain").status, 200);
    let ready = stand.ask("GET", "/readyz");
    assert_eq!((ready.status, ready.body.as_str()), (503, "draining\n"));
    Talk::open(&stand, 1).ends();
    let drained = stand.run(&["drain", "--wait", "0s"]);
    assert!(drained.status.success(), "{drained:?}");
}
