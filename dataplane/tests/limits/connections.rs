//! The limit of open connections: who is in stays in, who comes waits, nobody is lost.

use std::collections::HashSet;

use super::plus;
use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::talk::Talk;
use crate::support::wait;

const LIMIT: usize = 100;
const ATTEMPTS: usize = 3 * LIMIT;

#[test]
fn one_worker_at_the_limit_serves_newcomers_when_others_close() {
    check("limit-1", 1);
}

#[test]
fn two_workers_at_the_limit_serve_newcomers_when_others_close() {
    check("limit-2", 2);
}

#[track_caller]
fn check(label: &str, workers: usize) {
    let config = plus(
        &enrolled(PORT),
        &format!("limits: {{connections: {LIMIT}}}"),
    );
    let stand = Stand::new(label, &plus(&config, &format!("workers: {workers}")));
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let mut waiting: Vec<_> = (0..ATTEMPTS)
        .map(|number| Talk::begin(stand.dial(), number))
        .collect();
    let mut served = Vec::new();
    take_served(&mut waiting, &mut served, LIMIT);
    let metrics = stand.metrics_when("every worker pauses", |metrics| {
        metrics.get("accept_pauses_total{reason=\"limit\"}") >= workers as u64
    });
    assert_eq!(metrics.get("open_connections"), LIMIT as u64);
    served.iter().for_each(|talk| talk.says("still here"));
    // Newcomers wait at one of the workers; which one, the kernel's hash decides.
    while !waiting.is_empty() {
        served.drain(..).for_each(Talk::ends);
        take_served(&mut waiting, &mut served, 1);
    }
    served.drain(..).for_each(Talk::ends);
    let metrics = stand.metrics_when("all have ended", |m| m.ended("ok") == ATTEMPTS as u64);
    assert_eq!(
        metrics.sum("connections_total"),
        ATTEMPTS as u64,
        "{metrics}"
    );
    let clients: HashSet<_> = app.clients().into_iter().collect();
    assert_eq!(clients.len(), ATTEMPTS, "each as itself");
}

/// Moves those whom the app has greeted, until so many are served.
#[track_caller]
fn take_served(waiting: &mut Vec<Talk>, served: &mut Vec<Talk>, count: usize) {
    wait::until(&format!("{count} are served"), PATIENCE, || {
        let (greeted, rest): (Vec<_>, _) = waiting.drain(..).partition(Talk::has_answer);
        *waiting = rest;
        greeted.iter().for_each(Talk::is_greeted);
        served.extend(greeted);
        (served.len() >= count).then_some(())
    });
    assert!(served.len() <= LIMIT, "more than the limit");
}
