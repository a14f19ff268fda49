//! Promise: balancers that are trusted by their labels are followed as they come and go: the first
//! connection through a new one, as soon as it is ready, is served.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use futures_util::future::try_join_all;
use proxyunwrap_e2e::cluster::{Balancers, Client, Manifest, Pod, Unwrap, in_namespace, until};

const LIMIT: Duration = Duration::from_secs(60);

const SPEC: &str = "\
selector: {matchLabels: {app: app}}
ports: [{name: web}]
trustedPeers: [{pods: {selector: {matchLabels: {app: balancers}}}}]
";

#[tokio::test]
async fn the_first_connection_through_a_new_balancer_is_served() -> anyhow::Result<()> {
    in_namespace(async |space| {
        Unwrap::apply(space, "app", SPEC).await?;
        space.managed().await?;
        let values = [("kind", "Deployment"), ("name", "app")];
        space
            .apply(&Manifest::read("workload.yaml", &values)?)
            .await?;
        let values = [("name", "app"), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
        let app = space.ready_pods("app=app", 1).await?.remove(0);
        let client = Client::start(space).await?;
        let balancers = Balancers::start(space, space.service("app", false).await?).await?;
        let old = balancers.pods().await?.remove(0);
        is_served(&client, &balancers, &old).await?;

        balancers.scale(3).await?;
        let new = until("two new balancers have addresses", LIMIT, async || {
            let mut new = balancers.pods().await?;
            new.retain(|pod| pod.name() != old.name());
            ensure!(new.len() == 2, "{} are there", new.len());
            for pod in &new {
                pod.address(false).await?;
            }
            Ok(new)
        })
        .await?;
        let addressed = Instant::now();
        let served = new.iter().map(|pod| async {
            pod.ready().await?;
            let ready = addressed.elapsed();
            // Once, without another try: an error is a client's connection that failed.
            is_served(&client, &balancers, pod).await?;
            let (name, served) = (pod.name(), addressed.elapsed());
            eprintln!("{name}: ready {ready:?} after it had an address, served after {served:?}");
            Ok::<_, anyhow::Error>(())
        });
        try_join_all(served).await?;
        ensure!(app.restarts().await? == 0, "the app's pod was restarted");
        Ok(())
    })
    .await
}

/// By one connection.
async fn is_served(client: &Client, balancers: &Balancers<'_>, pod: &Pod) -> anyhow::Result<()> {
    let answer = client.ask(balancers.front(pod).await?).await?;
    ensure!(answer.reported == answer.local, "{answer:?}");
    Ok(())
}

/// A balancer that has gone must not be trusted for ever: its address may be somebody else's soon.
#[tokio::test]
async fn balancers_that_went_are_trusted_no_more() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let unwrap = Unwrap::apply(space, "app", SPEC).await?;
        let balancers = Balancers::start(space, "192.0.2.1:80".parse()?).await?;
        let mut networks = BTreeMap::new();
        for replicas in [2, 1] {
            balancers.scale(replicas).await?;
            let count = usize::try_from(replicas)?;
            space.ready_pods("app=balancers", count).await?;
            let what = format!("the networks of {replicas} pods are trusted");
            let found = until(&what, LIMIT, async || {
                let found = unwrap.status().await?.trusted_networks;
                // Two neighbours may be one network, and each pod has both families.
                if found < 2 || balancers.pods().await?.len() != count {
                    bail!("{found} networks");
                }
                Ok(found)
            })
            .await?;
            networks.insert(replicas, found);
        }
        eprintln!("networks by number of balancers: {networks:?}");
        ensure!(networks[&1] == 2, "{networks:?}");
        Ok(())
    })
    .await
}
