//! Promise: one replica writes at a time, and a Lease that is given back is taken up soon.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proxyunwrap_operator::leader::{self, Election};
use proxyunwrap_operator::metrics::Metrics;
use serde_json::json;
use support::api::Api;
use tokio::sync::watch;
use tokio::time::Instant;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/pu-system/leases/pu";

/// A replica that wants to lead.
struct Replica {
    leads: watch::Receiver<bool>,
    ending: watch::Sender<bool>,
    metrics: Arc<Metrics>,
}

fn replica(api: &Api, identity: &str) -> Replica {
    let election = Election {
        namespace: "pu-system".to_owned(),
        lease: "pu".to_owned(),
        identity: identity.to_owned(),
    };
    let (sender, leads) = watch::channel(false);
    let (ending, ends) = watch::channel(false);
    let metrics = Arc::new(Metrics::default());
    let running = leader::run(election, api.client(), sender, ends, Arc::clone(&metrics));
    tokio::spawn(running);
    Replica {
        leads,
        ending,
        metrics,
    }
}

impl Replica {
    /// How long it took until it led, or did no more.
    async fn until(&mut self, leads: bool) -> Duration {
        let begin = Instant::now();
        let limit = Duration::from_secs(120);
        let waited = tokio::time::timeout(limit, self.leads.wait_for(|now| *now == leads)).await;
        waited.expect("in time").unwrap();
        begin.elapsed()
    }
}

fn lease(api: &Api) {
    api.put(LEASE, json!({ "metadata": {} }));
}

// Time is made up: it jumps to the next thing that somebody waits for.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_taken_up_within_seconds() {
    let api = Api::new();
    lease(&api);
    let mut first = replica(&api, "pu-1");
    first.until(true).await;
    assert_eq!(api.get(LEASE)["spec"]["holderIdentity"], "pu-1");
    assert!(
        first
            .metrics
            .text()
            .contains("proxyunwrap_operator_leader 1")
    );
    let mut second = replica(&api, "pu-2");
    first.ending.send_replace(true);
    first.until(false).await;
    let waited = second.until(true).await;
    assert!(waited < Duration::from_secs(6), "{waited:?}");
    assert_eq!(api.get(LEASE)["spec"]["holderIdentity"], "pu-2");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_ends_it_before_the_lease_does() {
    let api = Api::new();
    lease(&api);
    let mut only = replica(&api, "pu-1");
    only.until(true).await;
    api.set_away(true);
    let waited = only.until(false).await;
    assert!(waited < Duration::from_secs(15), "{waited:?}");
    api.set_away(false);
    only.until(true).await;
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_lease_is_respected() {
    let api = Api::new();
    let spec = json!({
        "holderIdentity": "pu-9", "leaseDurationSeconds": 3600,
        "acquireTime": "2100-01-01T00:00:00.000000Z", "renewTime": "2100-01-01T00:00:00.000000Z",
    });
    api.put(LEASE, json!({ "metadata": {}, "spec": spec }));
    let replica = replica(&api, "pu-1");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!*replica.leads.borrow());
    assert_eq!(api.changes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_only_the_leader_does_is_dropped_with_the_lease_and_begun_anew() {
    let (leads, receiver) = watch::channel(false);
    let begun = Arc::new(AtomicU64::new(0));
    let going_on = Arc::new(AtomicU64::new(0));
    let work = {
        let (begun, going_on) = (Arc::clone(&begun), Arc::clone(&going_on));
        move || {
            let going_on = Arc::clone(&going_on);
            begun.fetch_add(1, Ordering::SeqCst);
            async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    going_on.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    };
    tokio::spawn(leader::while_leading(receiver, work));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        begun.load(Ordering::SeqCst),
        0,
        "not while somebody else leads"
    );
    leads.send_replace(true);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    leads.send_replace(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        (
            begun.load(Ordering::SeqCst),
            going_on.load(Ordering::SeqCst)
        ),
        (1, 2)
    );
    leads.send_replace(true);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(
        (
            begun.load(Ordering::SeqCst),
            going_on.load(Ordering::SeqCst)
        ),
        (2, 3)
    );
}
