//! Promise: `helm uninstall` leaves running pods as they are and stands in nobody's way; what people
//! wrote stays, and the next installation takes it up again.

use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_api::status::PodCounts;
use proxyunwrap_e2e::cluster::{Journey, Unwrap, in_namespace};

use super::operator_is_away::deploy;
use super::{SPEC, well, with_release};

#[tokio::test]
async fn running_pods_outlive_the_release() -> anyhow::Result<()> {
    with_release(&["webhook.failurePolicy=Fail"], async |operator| {
        in_namespace(async |space| {
            let unwrap = Unwrap::apply(space, "app", SPEC).await?;
            space.managed().await?;
            deploy(space).await?;
            let pod = space.ready_pods("app=app", 1).await?.remove(0);
            let server = space.service("app", false).await?;
            let journey = Journey::start(space, vec![server]).await?;
            journey.shows_the_client("before", server).await?;
            let front = journey.balancer.front(server).await?;
            let held = journey.client.hold(front).await?;

            operator.uninstall().await?;
            journey.shows_the_client("uninstalled", server).await?;
            space.scale("app", 2).await?;
            space.ready_pods("app=app", 2).await?;
            let kept = held.close().await?;
            eprintln!("a connection during that: {kept:?}");
            ensure!(pod.restarts().await? == 0, "it was restarted");

            operator.upgrade(&[]).await?;
            let missed = PodCounts {
                matched: 2,
                injected: 1,
                failed: 1,
                ..well(0)
            };
            unwrap.counts_within(Duration::from_secs(20), missed).await
        })
        .await
    })
    .await
}

#[tokio::test]
async fn its_own_test_passes_and_says_what_it_asked() -> anyhow::Result<()> {
    with_release(&[], async |operator| {
        let said = operator.test().await?;
        eprintln!("{said}");
        ensure!(said.contains("Succeeded"), "{said}");
        Ok(())
    })
    .await
}
