//! Promise: while no operator answers, running pods need none. New ones start without the sidecar and
//! are told of afterwards (`Ignore`), or wait until one answers (`Fail`).

use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_api::status::{ConditionType, PodCounts};
use proxyunwrap_e2e::cluster::{Journey, Manifest, Namespace, Unwrap, in_namespace, run, until};

use super::{SPEC, well, with_release};

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn with_ignore_pods_start_are_reported_and_healed_on_request() -> anyhow::Result<()> {
    with_release(&["webhook.failurePolicy=Ignore"], async |operator| {
        in_namespace(async |space| {
            let unwrap = Unwrap::apply(space, "app", SPEC).await?;
            space.managed().await?;
            deploy(space).await?;
            space.ready_pods("app=app", 1).await?;
            let server = space.service("app", false).await?;
            let journey = Journey::start(space, vec![server]).await?;
            journey.shows_the_client("before", server).await?;

            operator.scale(0).await?;
            journey.shows_the_client("without operator", server).await?;
            space.scale("app", 2).await?;
            space.ready_pods("app=app", 2).await?;

            operator.scale(1).await?;
            let missed = PodCounts {
                matched: 2,
                injected: 1,
                failed: 1,
                ..well(0)
            };
            unwrap.counts(missed).await?;
            let advice = unwrap
                .says(ConditionType::Ready, "False", "MissedPods")
                .await?;
            eprintln!("{advice}");
            follow(&advice).await?;
            unwrap.counts_within(LIMIT, well(2)).await?;
            space.ready_pods("app=app", 2).await?;
            journey.shows_the_client("after", server).await
        })
        .await
    })
    .await
}

#[tokio::test]
async fn with_fail_pods_wait() -> anyhow::Result<()> {
    with_release(&["webhook.failurePolicy=Fail"], async |operator| {
        in_namespace(async |space| {
            let unwrap = Unwrap::apply(space, "app", SPEC).await?;
            space.managed().await?;
            operator.scale(0).await?;
            deploy(space).await?;
            let what = "the Deployment says that its pod is refused";
            until(what, LIMIT, async || {
                let told = told(space).await?;
                ensure!(told.contains("proxyunwrap.dev"), "{told:?}");
                Ok(())
            })
            .await?;
            ensure!(space.pods("app=app").await?.is_empty(), "there is a pod");

            operator.scale(1).await?;
            // The longer its ReplicaSet was refused, the later it tries again.
            unwrap.counts_within(LIMIT, well(1)).await?;
            space.ready_pods("app=app", 1).await.map(drop)
        })
        .await
    })
    .await
}

/// Runs the command that a sentence ends with, as a person would.
async fn follow(advice: &str) -> anyhow::Result<()> {
    let command = advice.split("kubectl ").nth(1).unwrap_or_default();
    let words: Vec<_> = command.split_whitespace().collect();
    ensure!(words.contains(&"restart"), "{advice:?}");
    run("kubectl", &words).await.map(drop)
}

/// What the Deployment says of pods that could not be made.
async fn told(space: &Namespace) -> anyhow::Result<String> {
    let path = "jsonpath={.status.conditions[?(@.type==\"ReplicaFailure\")].message}";
    let command = [
        "get",
        "deployment/app",
        "--namespace",
        space.name(),
        "-o",
        path,
    ];
    run("kubectl", &command).await
}

/// One pod with a Service.
pub(super) async fn deploy(space: &Namespace) -> anyhow::Result<()> {
    let values = [("kind", "Deployment"), ("name", "app")];
    space
        .apply(&Manifest::read("workload.yaml", &values)?)
        .await?;
    let values = [("name", "app"), ("annotations", "{}")];
    space.apply(&Manifest::read("service.yaml", &values)?).await
}
