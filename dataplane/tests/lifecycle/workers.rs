//! Few long connections are shared out among the workers.

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand};
use crate::support::talk::Talk;

/// The kernel puts three of three on one of two workers in a quarter of all cases.
const ROUNDS: usize = 50;

#[test]
fn a_connection_that_is_handed_to_another_worker_is_served_there() {
    let stand = Stand::new("handed", &format!("{}workers: 2\n", enrolled(PORT)));
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    for round in 0..ROUNDS {
        let talks: Vec<_> = (0..4)
            .map(|at| Talk::open(&stand, round * 4 + at))
            .collect();
        let handed = stand.metrics().get("handed_over_total");
        talks.into_iter().for_each(Talk::ends);
        stand.metrics_when("all of them end", |m| m.get("open_connections") == 0);
        if handed > 0 {
            return;
        }
    }
    panic!("no connection was handed over in {ROUNDS} rounds");
}
