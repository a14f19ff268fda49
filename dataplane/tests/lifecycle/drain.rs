//! How it ends: in order if it may, in time in any case.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, POD4};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::talk::Talk;

fn stand(label: &str, drain: &str) -> (Stand, App) {
    let stand = Stand::new(
        label,
        &format!("{}drain: {{timeout: {drain}}}\n", enrolled(PORT)),
    );
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    (stand, app)
}

/// Newcomers are refused: nothing listens any more.
fn refuses_newcomers(stand: &Stand) {
    let refused = || {
        let from = std::net::SocketAddr::new(BALANCER4, 0);
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.bind(&from.into())?;
        socket.connect(&std::net::SocketAddr::new(POD4, PORT).into())
    };
    crate::support::wait::until("newcomers are refused", PATIENCE, || {
        let result = stand.lab.balancer.enter(refused);
        result
            .is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused)
            .then_some(())
    });
}

#[test]
fn sigterm_finishes_what_is_open_refuses_newcomers_and_ends_with_0() {
    let (mut stand, _app) = stand("term", "20s");
    let talk = Talk::open(&stand, 1);
    stand.signal(Signal::SIGTERM);
    refuses_newcomers(&stand);
    talk.says("still here");
    talk.ends();
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let log = stand.access_log();
    let last = log
        .last()
        .expect("the last line was written before the end");
    assert_eq!(last["outcome"], Value::from("ok"));
}

#[test]
fn what_is_open_at_the_drain_deadline_is_cut() {
    let (mut stand, _app) = stand("deadline", "1s");
    let talk = Talk::open(&stand, 1);
    let start = Instant::now();
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
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
    refuses_newcomers(&stand);
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(Duration::from_secs(10)), Some(0));
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
