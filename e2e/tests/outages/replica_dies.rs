//! Promise: of two operators one may go, however it goes: no pod is made without its sidecar.

use anyhow::{Context, ensure};
use futures_util::future::try_join;
use proxyunwrap_api::names::SIDECAR;
use proxyunwrap_e2e::cluster::{Manifest, Namespace, Node, Operator, in_namespace, until};

use super::{admissions, with_release};

const PODS: u32 = 60;

/// As a rolling update or a drained node does it; without a sidecar a pod would be made all the same.
#[tokio::test]
async fn one_that_is_deleted_costs_nobody_the_sidecar() -> anyhow::Result<()> {
    with_release(&["replicaCount=2"], async |operator| {
        in_namespace(async |space| {
            for _ in 0..2 {
                let found = admissions::during(space, async {
                    let (_, made) =
                        try_join(replace_leader(operator), Box::pin(fill(space))).await?;
                    Ok(made)
                });
                found.await?.are_whole()?;
                all_have_it(space).await?;
            }
            Ok(())
        })
        .await
    })
    .await
}

/// As the kernel does when memory runs out. What was asked at that moment is not answered, and
/// refused by `Fail`; whoever makes pods tries again.
#[tokio::test]
async fn one_that_is_killed_costs_nobody_the_sidecar() -> anyhow::Result<()> {
    let values = ["replicaCount=2", "webhook.failurePolicy=Fail"];
    with_release(&values, async |operator| {
        in_namespace(async |space| {
            let leader = operator.leader().await?;
            let node = Node::of(space, &leader).await?;
            let process = node.process(&leader, "operator").await?;
            let found = admissions::during(space, async {
                try_join(node.kill(process), Box::pin(fill(space))).await?;
                operator.has(2).await
            });
            let found = found.await?;
            ensure!(found.bare == 0, "{found:?}");
            all_have_it(space).await
        })
        .await
    })
    .await
}

async fn replace_leader(operator: &Operator) -> anyhow::Result<()> {
    let leader = operator.leader().await?;
    leader.delete().await?;
    operator.has(2).await
}

/// Pods that wait for a node that there is not: they cost nothing.
async fn fill(space: &Namespace) -> anyhow::Result<()> {
    let text = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: crowd}
spec:
  replicas: {{replicas}}
  selector: {matchLabels: {app: crowd}}
  template:
    metadata: {labels: {app: crowd}, annotations: {proxyunwrap.dev/ports: \"8080\"}}
    spec:
      nodeSelector: {nowhere: at-all}
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: localhost/testapp:dev}]
";
    // Those of an earlier round go first.
    for replicas in ["0", &PODS.to_string()] {
        space
            .apply(&Manifest::parse(text, &[("replicas", replicas)])?)
            .await?;
        let count = replicas.parse::<usize>()?;
        let what = format!("{count} pods are there");
        until(&what, std::time::Duration::from_secs(60), async || {
            let found = space.pods("app=crowd").await?.len();
            ensure!(found == count, "{found} are");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn all_have_it(space: &Namespace) -> anyhow::Result<()> {
    for pod in space.pods("app=crowd").await? {
        let spec = pod.object().await?.spec.unwrap_or_default();
        let mut containers = spec.init_containers.into_iter().flatten();
        containers
            .find(|container| container.name == SIDECAR)
            .with_context(|| format!("{} has no sidecar", pod.name()))?;
    }
    Ok(())
}
