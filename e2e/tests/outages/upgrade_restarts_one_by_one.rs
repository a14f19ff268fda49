//! Promise: a release with another sidecar changes no running pod. They are counted as outdated, and
//! who asks for it has the workloads restarted, one after the other.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use proxyunwrap_api::status::{ConditionType, PodCounts};
use proxyunwrap_e2e::cluster::{Journey, Manifest, Namespace, Unwrap, in_namespace, until};

use super::{well, with_release};

const NAMES: [&str; 3] = ["one", "two", "three"];

const SPEC: &str = "\
selector: {matchExpressions: [{key: app, operator: In, values: [one, two, three]}]}
ports: [{name: web}]
";

const RESTARTED: &str = "proxyunwrap.dev/restarted-at";

#[tokio::test]
async fn pods_are_outdated_untouched_and_restarted_on_request() -> anyhow::Result<()> {
    with_release(&["controller.restarts=true"], async |operator| {
        in_namespace(async |space| {
            let unwrap = Unwrap::apply(space, "app", SPEC).await?;
            space.managed().await?;
            deploy(space).await?;
            unwrap
                .counts_within(Duration::from_secs(30), well(6))
                .await?;
            let server = space.service("one", false).await?;
            let journey = Journey::start(space, vec![server]).await?;
            journey.shows_the_client("before", server).await?;
            let held = journey
                .client
                .hold(journey.balancer.front(server).await?)
                .await?;

            operator
                .upgrade(&["controller.restarts=true", "dataplane.image.tag=next"])
                .await?;
            let outdated = PodCounts {
                outdated: 6,
                ..well(6)
            };
            unwrap
                .counts_within(Duration::from_secs(20), outdated)
                .await?;
            let kind = ConditionType::PodsUpToDate;
            let advice = unwrap.says(kind, "False", "OutdatedPods").await?;
            eprintln!("{advice}");
            for name in NAMES {
                for pod in space.ready_pods(&format!("app={name}"), 2).await? {
                    ensure!(pod.restarts().await? == 0, "{} was restarted", pod.name());
                }
            }
            let kept = held.close().await?;
            eprintln!("a connection during the upgrade: {kept:?}");
            ensure!(restarted(space).await?.is_empty(), "nobody asked for that");

            let asked = format!("{SPEC}rollout: {{strategy: RestartOutdated, interval: 1s}}");
            Unwrap::apply(space, "app", &asked).await?;
            one_by_one(space).await?;
            unwrap
                .counts_within(Duration::from_secs(30), well(6))
                .await?;
            unwrap.says(ConditionType::Ready, "True", "Ready").await?;
            journey.shows_the_client("after", server).await
        })
        .await
    })
    .await
}

/// Three Deployments of two pods each, which are never less while they are replaced.
async fn deploy(space: &Namespace) -> anyhow::Result<()> {
    for name in NAMES {
        let values = [("kind", "Deployment"), ("name", name)];
        space
            .apply(&Manifest::read("workload.yaml", &values)?)
            .await?;
        space.scale(name, 2).await?;
        let values = [("name", name), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
    }
    Ok(())
}

/// Waits until all are restarted; while one is, no other may be unavailable.
async fn one_by_one(space: &Namespace) -> anyhow::Result<()> {
    let what = "every Deployment was restarted, one after the other";
    until(what, Duration::from_secs(120), async || {
        let rolling = rolling(space).await?;
        if rolling.len() > 1 {
            bail!(proxyunwrap_e2e::cluster::Hopeless(format!(
                "{rolling:?} at once"
            )));
        }
        let restarted = restarted(space).await?;
        ensure!(restarted.len() == NAMES.len(), "{restarted:?} so far");
        ensure!(rolling.is_empty(), "{rolling:?} is on its way");
        Ok(())
    })
    .await
}

/// Deployments whose pods are being replaced.
async fn rolling(space: &Namespace) -> anyhow::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in NAMES {
        let deployment = space.api::<Deployment>().get(name).await?;
        let status = deployment.status.context("no status")?;
        let settled = status.observed_generation == deployment.metadata.generation
            && status.updated_replicas == Some(2)
            && status.available_replicas == Some(2)
            && status.replicas == Some(2);
        if !settled {
            found.push(name);
        }
    }
    Ok(found)
}

/// Deployments that were restarted by the operator.
async fn restarted(space: &Namespace) -> anyhow::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in NAMES {
        let deployment = space.api::<Deployment>().get(name).await?;
        let template = deployment.spec.context("no spec")?.template.metadata;
        let annotations = template.and_then(|metadata| metadata.annotations);
        if annotations.is_some_and(|annotations| annotations.contains_key(RESTARTED)) {
            found.push(name);
        }
    }
    Ok(found)
}
