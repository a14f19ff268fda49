//! Readiness follows the namespace, and nothing else waits for it.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::http::Answer;
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::wait;

/// A self-test without answer takes four seconds: two for each family.
const SIGTERM_WITHIN: Duration = Duration::from_secs(2);

#[test]
fn readiness_names_a_rule_that_is_gone_and_returns_with_it() {
    let stand = Stand::new("ready", &enrolled(PORT));
    ready(&stand, 200);
    let pod = &stand.lab.pod.namespace;
    let start = Instant::now();
    pod.sh("ip rule del pref 1");
    let answer = ready(&stand, 503);
    eprintln!(
        "not ready {:?} after the rule went:\n{}",
        start.elapsed(),
        answer.body
    );
    for says in [
        "cannot dial the app as a client: no answer",
        "rule \"from 127.0.0.0/8 iif lo lookup local\" is missing",
    ] {
        assert!(
            answer.body.contains(says),
            "{:?} does not say {says:?}",
            answer.body
        );
    }
    assert!(
        !answer.body.contains("::1"),
        "IPv6 is whole: {}",
        answer.body
    );
    assert_eq!(stand.metrics().get("ready"), 0);
    assert_eq!(stand.ask("GET", "/livez").status, 200);
    let start = Instant::now();
    pod.sh("ip rule add pref 1 from 127.0.0.0/8 iif lo lookup local");
    ready(&stand, 200);
    eprintln!("ready {:?} after it was put back", start.elapsed());
    assert_eq!(stand.metrics().get("ready"), 1);
}

#[test]
fn a_self_test_without_answer_does_not_hold_up_the_end() {
    let mut stand = Stand::new("hold-up", &enrolled(PORT));
    ready(&stand, 200);
    let pod = &stand.lab.pod.namespace;
    pod.sh("ip rule del pref 1; ip -6 rule del pref 1");
    wait::until("a self-test waits for an answer", PATIENCE, || {
        let dials = pod.sh("ss -Htn state syn-sent src 192.0.2.1");
        (!dials.is_empty()).then_some(())
    });
    let start = Instant::now();
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let took = start.elapsed();
    eprintln!("ended after {took:?}");
    assert!(took < SIGTERM_WITHIN, "{took:?}");
}

#[track_caller]
fn ready(stand: &Stand, status: u16) -> Answer {
    wait::until("readiness follows", PATIENCE, || {
        Some(stand.ask("GET", "/readyz")).filter(|answer| answer.status == status)
    })
}
