//! A process that is killed, and one that takes its place.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::talk::Talk;
use crate::support::wait;

/// Everything that `init` programs.
const LISTINGS: &str = "ip rule; ip -6 rule; ip route show table all; \
                        ip -6 route show table all; nft list ruleset";

#[test]
fn killed_and_started_again_it_serves_within_a_second_and_no_rule_has_changed() {
    let config = enrolled(PORT);
    let mut stand = Stand::new("kill", &config);
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let pod = &stand.lab.pod.namespace;
    // The kernel adds a route for eth0's link-local address once it knows that nobody else has it.
    wait::until("eth0 has its link-local address", PATIENCE, || {
        let routes = pod.sh("ip -6 route show table local dev eth0");
        routes.contains("local fe80:").then_some(())
    });
    let before = pod.sh(LISTINGS);
    // A machine that does something else, too, has slow moments: the best of three counts.
    let took = [1, 3, 5].map(|number| {
        let talk = Talk::open(&stand, number);
        stand.signal(Signal::SIGKILL);
        stand.process().ended(PATIENCE);
        drop(talk);
        let start = Instant::now();
        stand.start(&config);
        Talk::open(&stand, number + 1).ends();
        start.elapsed()
    });
    eprintln!("serving again after {took:?}");
    assert!(
        took.into_iter().min() < Some(Duration::from_secs(1)),
        "{took:?}"
    );
    assert_eq!(stand.lab.pod.namespace.sh(LISTINGS), before);
}
