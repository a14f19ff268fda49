//! At the limit of open connections newcomers wait in the kernel's backlog, and nobody is lost.

use super::crowd::{arrive, config, serve};
use crate::support::app::{self, App};
use crate::support::stand::Stand;

const LIMIT: usize = 200;

#[test]
fn three_times_the_limit_are_all_served_a_limit_at_a_time() {
    let stand = Stand::new("limit", &config(&format!("{{connections: {LIMIT}}}")));
    let app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let mut waiting = arrive(&stand, 0..3 * LIMIT);
    let mut served = Vec::new();
    serve(&mut waiting, &mut served, LIMIT);
    assert_eq!(stand.metrics().get("open_connections"), LIMIT as u64);
    let mut rounds = 0;
    while !served.is_empty() {
        served.iter().for_each(|guest| guest.is_greeted());
        for (number, guest) in served.iter().enumerate() {
            guest.works(&format!("guest {number}"));
        }
        assert!(served.len() <= LIMIT, "{} at once", served.len());
        served.drain(..).for_each(|guest| guest.leave());
        rounds += 1;
        // A connection waits for the worker that the kernel chose for it, so the last rounds may
        // be less than full.
        let least = usize::from(!waiting.is_empty());
        serve(&mut waiting, &mut served, least);
    }
    eprintln!(
        "{} connections of {LIMIT} at once in {rounds} rounds",
        3 * LIMIT
    );
    let all = 3 * LIMIT as u64;
    let metrics = stand.metrics_when("all have ended", |metrics| metrics.ended("ok") == all);
    assert_eq!(metrics.sum("connections_total"), all, "no other outcome");
    assert!(metrics.get(r#"accept_pauses_total{reason="limit"}"#) > 0);
    assert_eq!(app.clients().len(), 3 * LIMIT);
}
