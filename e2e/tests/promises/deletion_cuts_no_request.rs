//! Promise: a pod that is deleted under load cuts no request: what is in flight is answered, what
//! still comes is taken, and the sidecar ends after the app.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{Balancer, Client, Manifest, Pod, Request, in_namespace, until};

/// Longer than the app's sleep before it is asked to end: requests are in flight then, too.
const ANSWER: Duration = Duration::from_secs(3);

/// How long the cluster may take for what it does after a deletion.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_request_is_answered() -> anyhow::Result<()> {
    in_namespace(async |space| {
        space
            .apply(&Manifest::read("deployment.yaml", &[])?.unwrapped())
            .await?;
        let pods = space.ready_pods("app=app", 2).await?;
        let server = space.service("app", false).await?;
        let balancer = Balancer::start(space, vec![server]).await?;
        let client = Client::start(space).await?;

        let load = client.load(balancer.front(server).await?, ANSWER).await?;
        load.answered_by(&pods).await?;
        let deleted = now();
        pods[0].delete().await?;
        was_asked_to_drain(&pods[0]).await?;
        pods[0].gone(LIMIT).await?;
        let gone = now();
        let after = space.ready_pods("app=app", 2).await?;
        load.answered_by(&after).await?;
        let requests = load.stop().await?;
        judge(&requests, pods[0].name(), deleted, gone)
    })
    .await
}

/// The times are milliseconds of Unix time.
fn judge(requests: &[Request], pod: &str, deleted: u64, gone: u64) -> anyhow::Result<()> {
    let in_flight = requests
        .iter()
        .filter(|request| request.pod == pod && request.began < deleted && request.ended > deleted);
    let in_flight = in_flight.count();
    eprintln!(
        "{} requests: {} cut, {} unanswered; {in_flight} were in flight in the pod when it was \
         deleted, and it was gone after {} ms",
        requests.len(),
        count(requests, "cut"),
        count(requests, "unanswered"),
        gone - deleted,
    );
    let mut bad = requests.to_vec();
    bad.retain(|request| request.outcome != "whole");
    ensure!(
        bad.is_empty(),
        "deleted at {deleted}, gone at {gone}: {bad:#?}"
    );
    ensure!(
        in_flight > 0,
        "nothing was in flight in the pod that was deleted"
    );
    Ok(())
}

/// By its preStop hook, before the app has ended.
async fn was_asked_to_drain(pod: &Pod) -> anyhow::Result<()> {
    until("the sidecar was asked to drain", LIMIT, async || {
        let log = pod.logs("proxyunwrap", false).await?;
        ensure!(log.contains("asked to drain"), "{log}");
        Ok(())
    })
    .await
}

fn count(requests: &[Request], outcome: &str) -> usize {
    requests
        .iter()
        .filter(|request| request.outcome == outcome)
        .count()
}

/// Milliseconds of Unix time: the clients' clock is this machine's.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis())
        .expect("a date this side of year 584 million")
}
