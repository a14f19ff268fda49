//! One replica writes: the one that holds the Lease.
//!
//! Promise: whatever runs while we lead is dropped, mid-request if need be, before another replica
//! may take the Lease. So a renewal that fails ends it, though the Lease is still ours: the API
//! server that does not answer it would not take our writes either.
//!
//! The library holds and renews the Lease. It does not say when a renewal is overdue, so its
//! requests get a time limit that is shorter than what is left of the Lease then; and it looks at
//! a Lease of somebody else only when that has expired, so it is asked anew from time to time: a
//! Lease that was released is taken up soon.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use kube_lease_manager::{LeaseCreateMode, LeaseManager, LeaseManagerBuilder, LeaseManagerError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::metrics::Metrics;

/// Another replica may take a Lease that was not renewed for so long, in seconds.
const DURATION: u64 = 15;

/// Left of the Lease when it is renewed, in seconds. Two requests with their limits fit in.
const GRACE: u64 = 9;

/// Limit of connecting, and of waiting for an answer.
const REQUEST: Duration = Duration::from_secs(2);

/// How often a Lease of somebody else is looked at.
const LOOK: Duration = Duration::from_secs(4);

/// Pause after an error.
const PAUSE: Duration = Duration::from_secs(2);

/// Who we are, and which Lease decides.
#[derive(Clone, Debug)]
pub struct Election {
    /// The Lease's namespace: ours.
    pub namespace: String,
    /// The Lease's name. It exists: the chart makes it.
    pub lease: String,
    /// Our name; no other replica has it.
    pub identity: String,
}

/// The client that the Lease is renewed with.
///
/// # Errors
/// Those of kube, for a configuration that leads nowhere.
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.connect_timeout = Some(REQUEST);
    config.read_timeout = Some(REQUEST);
    config.write_timeout = Some(REQUEST);
    config.reset_reader_on_write = true;
    Client::try_from(config)
}

/// Tries to lead for as long as the process runs, and says whether we do. When `ending` turns
/// true the Lease is given back, and this ends.
pub async fn run(
    election: Election,
    client: Client,
    leads: watch::Sender<bool>,
    mut ending: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
) {
    let say = |now: bool| {
        let before = leads.send_replace(now);
        metrics.set_leader(now);
        if before != now {
            tracing::info!(lease = election.lease, leads = now, "leadership changed");
        }
    };
    loop {
        let attempt = hold(&election, client.clone(), &say);
        let outcome = tokio::select! {
            outcome = attempt => outcome,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        say(false);
        match outcome {
            Ok(Turn::NotOurs) => {}
            Err(error) => {
                tracing::warn!(lease = election.lease, %error, "lease not held");
                sleep(PAUSE).await;
            }
        }
    }
    let led = *leads.borrow();
    say(false);
    if led {
        release(&election, client).await;
    }
}

/// Runs something while we lead, from the beginning each time; dropped when we lead no more.
pub async fn while_leading<F, W>(mut leads: watch::Receiver<bool>, mut work: F) -> Infallible
where
    F: FnMut() -> W,
    W: Future<Output = ()>,
{
    loop {
        until(&mut leads, true).await;
        tokio::select! {
            biased;
            () = until(&mut leads, false) => {}
            () = work() => sleep(PAUSE).await,
        }
    }
}

/// Waits until we lead, or do no more. Without anybody who could say so, nothing changes.
async fn until(leads: &mut watch::Receiver<bool>, state: bool) {
    if leads.wait_for(|leads| *leads == state).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Why one attempt ended without an error.
enum Turn {
    /// Somebody else holds the Lease, or took it.
    NotOurs,
}

async fn hold(
    election: &Election,
    client: Client,
    say: &impl Fn(bool),
) -> Result<Turn, LeaseManagerError> {
    let manager = manager(election, client).await?;
    match timeout(LOOK, manager.changed()).await {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) | Err(_) => return Ok(Turn::NotOurs),
        Ok(Err(error)) => return Err(error),
    }
    say(true);
    // Renews again and again; ends with the Lease lost or a renewal failed.
    manager.changed().await.map(|_| Turn::NotOurs)
}

async fn manager(election: &Election, client: Client) -> Result<LeaseManager, LeaseManagerError> {
    LeaseManagerBuilder::new(client, &election.lease)
        .with_namespace(&election.namespace)
        .with_identity(&election.identity)
        .with_field_manager(format!("proxyunwrap-operator-{}", election.identity))
        .with_create_mode(LeaseCreateMode::UseExistent)
        .with_duration(DURATION)
        .with_grace(GRACE)
        .build()
        .await
}

/// Only a Lease that is ours is given back.
async fn release(election: &Election, client: Client) {
    let released = async { manager(election, client).await?.release().await };
    match timeout(REQUEST * 2, released).await {
        Ok(Ok(())) => tracing::info!(lease = election.lease, "lease given back"),
        Ok(Err(error)) => tracing::warn!(%error, "lease not given back, it will expire"),
        Err(_) => tracing::warn!("lease not given back in time, it will expire"),
    }
}
