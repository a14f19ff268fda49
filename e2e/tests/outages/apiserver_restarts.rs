//! Promise: an API server that restarts is waited for. The operator goes on where it was, and no
//! connection through a sidecar notices.

use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{Journey, Unwrap, cluster, in_namespace, timed};

use super::operator_is_away::deploy;
use super::{SPEC, well, with_release};

#[tokio::test]
async fn the_operator_goes_on_where_it_was() -> anyhow::Result<()> {
    with_release(&[], async |operator| {
        in_namespace(async |space| {
            let unwrap = Unwrap::apply(space, "app", SPEC).await?;
            space.managed().await?;
            deploy(space).await?;
            let pod = space.ready_pods("app=app", 1).await?.remove(0);
            let server = space.service("app", false).await?;
            let journey = Journey::start(space, vec![server]).await?;
            journey.shows_the_client("before", server).await?;

            cluster(&["restart-apiserver", "5"]).await?;
            let limit = Duration::from_secs(30);
            timed("a new pod is injected and counted", limit, async || {
                space.scale("app", 2).await?;
                unwrap.counts(well(2)).await
            })
            .await?;
            let limited = SPEC.replace("ports:", "trustedPeers: [{cidrs: [192.0.2.1]}], ports:");
            Unwrap::apply(space, "app", &limited).await?;
            let limit = Duration::from_secs(10);
            timed("a change reaches the old pod", limit, async || {
                let config = pod.annotation("proxyunwrap.dev/config").await?;
                ensure!(config.contains("192.0.2.1"), "{config}");
                Ok(())
            })
            .await?;
            for operator in operator.pods().await? {
                ensure!(operator.restarts().await? == 0, "it was restarted");
            }
            Ok(())
        })
        .await
    })
    .await
}
