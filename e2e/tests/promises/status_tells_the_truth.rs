//! Promise: `kubectl get pu` tells the truth within five seconds: of pods that come, of pods that
//! were missed or are outdated, of a conflict, and of names that lead nowhere.

use anyhow::ensure;
use proxyunwrap_api::status::{ConditionType, PodCounts};
use proxyunwrap_e2e::cluster::{Manifest, Namespace, Unwrap, event, in_namespace};

const SPEC: &str = "{selector: {matchLabels: {app: app}}, ports: [{name: web}]}";

const NONE: PodCounts = PodCounts {
    matched: 0,
    injected: 0,
    outdated: 0,
    failed: 0,
};

#[tokio::test]
async fn pods_are_counted_as_they_come() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let unwrap = Unwrap::apply(space, "app", SPEC).await?;
        unwrap.counts(NONE).await?;
        space.managed().await?;
        deploy(space).await?;
        unwrap.counts(well(1)).await?;
        space.scale("app", 2).await?;
        unwrap.counts(well(2)).await?;
        space.ready_pods("app=app", 2).await?;
        unwrap.says(ConditionType::Ready, "True", "Ready").await?;
        let row = unwrap.row().await?;
        ensure!(row == ["True", "Ready", "2", "2", "0", "0"], "{row:?}");
        space.scale("app", 1).await?;
        unwrap.counts(well(1)).await
    })
    .await
}

#[tokio::test]
async fn a_pod_older_than_the_resource_is_missed_until_it_is_made_anew() -> anyhow::Result<()> {
    in_namespace(async |space| {
        deploy(space).await?;
        let pod = space.ready_pods("app=app", 1).await?.remove(0);
        let unwrap = Unwrap::apply(space, "app", SPEC).await?;
        let missed = PodCounts {
            matched: 1,
            failed: 1,
            ..NONE
        };
        unwrap.counts(missed).await?;
        let reason = (ConditionType::PodsUpToDate, "MissedPods");
        unwrap.says(reason.0, "False", reason.1).await?;
        let advice = unwrap.says(ConditionType::Ready, "False", reason.1).await?;
        has(&advice, "rollout restart deployment/app")?;

        space.managed().await?;
        pod.delete().await?;
        unwrap.counts(well(1)).await?;
        space.ready_pods("app=app", 1).await?;
        unwrap
            .says(ConditionType::Ready, "True", "Ready")
            .await
            .map(drop)
    })
    .await
}

#[tokio::test]
async fn a_changed_image_makes_pods_outdated_until_they_are_made_anew() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let unwrap = Unwrap::apply(space, "app", SPEC).await?;
        space.managed().await?;
        deploy(space).await?;
        let pod = space.ready_pods("app=app", 1).await?.remove(0);

        let image = "localhost/proxyunwrap-dataplane:next";
        is_outdated(space, &format!("image: {image}")).await?;
        // What is taken back was never outdated.
        Unwrap::apply(space, "app", SPEC).await?;
        unwrap.counts(well(1)).await?;
        is_outdated(space, "resources: {limits: {memory: 96Mi}}").await?;
        let same = space.ready_pods("app=app", 1).await?.remove(0);
        ensure!(same.name() == pod.name(), "the pod was made anew by itself");
        ensure!(pod.restarts().await? == 0, "it was restarted");

        pod.delete().await?;
        unwrap.counts(well(1)).await?;
        let new = space.ready_pods("app=app", 1).await?.remove(0);
        let containers = new.object().await?.spec.unwrap_or_default().init_containers;
        let containers = containers.unwrap_or_default();
        let limits = containers[1]
            .resources
            .as_ref()
            .and_then(|all| all.limits.as_ref());
        let memory = limits.and_then(|limits| limits.get("memory"));
        ensure!(
            memory.is_some_and(|memory| memory.0 == "96Mi"),
            "{memory:?}"
        );
        Ok(())
    })
    .await
}

async fn is_outdated(space: &Namespace, dataplane: &str) -> anyhow::Result<()> {
    let spec = SPEC.replace("ports:", &format!("dataplane: {{{dataplane}}}, ports:"));
    let unwrap = Unwrap::apply(space, "app", &spec).await?;
    let outdated = PodCounts {
        outdated: 1,
        ..well(1)
    };
    unwrap.counts(outdated).await?;
    let reason = "OutdatedPods";
    unwrap
        .says(ConditionType::PodsUpToDate, "False", reason)
        .await?;
    let advice = unwrap.says(ConditionType::Ready, "False", reason).await?;
    has(&advice, "rollout restart deployment/app")?;
    let row = unwrap.row().await?;
    ensure!(row == ["False", reason, "1", "1", "1", "0"], "{row:?}");
    Ok(())
}

#[tokio::test]
async fn of_two_resources_the_older_wins_and_the_younger_says_so() -> anyhow::Result<()> {
    in_namespace(async |space| {
        // Equally old, the name would decide.
        let older = Unwrap::apply(space, "a-older", SPEC).await?;
        space.managed().await?;
        deploy(space).await?;
        older.counts(well(1)).await?;
        let younger = Unwrap::apply(space, "b-younger", SPEC).await?;
        let kind = ConditionType::Accepted;
        let message = younger.says(kind, "False", "Conflicted").await?;
        has(&message, "a-older")?;
        let message = younger
            .says(ConditionType::Ready, "False", "Conflicted")
            .await?;
        has(&message, "a-older")?;
        let told = event::about(space, "ProxyUnwrap", "b-younger", "PolicyConflict").await?;
        has(&told, "a-older")?;
        older.says(kind, "True", "Accepted").await?;
        older.counts(well(1)).await?;
        let taken = PodCounts { matched: 1, ..NONE };
        younger.counts(taken).await?;

        older.delete().await?;
        younger.says(kind, "True", "Accepted").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_target_that_is_missing_is_named() -> anyhow::Result<()> {
    in_namespace(async |space| {
        for (kind, name) in [("Service", "nobody"), ("StatefulSet", "none")] {
            let spec = format!("{{targetRefs: [{{kind: {kind}, name: {name}}}]}}");
            let unwrap = Unwrap::apply(space, name, &spec).await?;
            let reason = "TargetNotFound";
            for condition in [ConditionType::ResolvedRefs, ConditionType::Ready] {
                let message = unwrap.says(condition, "False", reason).await?;
                has(&message, &format!("{kind} {name}"))?;
            }
        }
        let spec = "{targetRefs: [{kind: Service, name: nobody}]}";
        let unwrap = Unwrap::apply(space, "nobody", spec).await?;
        let values = [("name", "nobody"), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
        let kind = ConditionType::ResolvedRefs;
        unwrap.says(kind, "True", "ResolvedRefs").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn trusted_pods_that_are_missing_are_named_and_nobody_is_trusted() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let peers = "trustedPeers: [{pods: {selector: {matchLabels: {app: balancer}}}}]";
        let spec = SPEC.replace("ports:", &format!("{peers}, ports:"));
        let unwrap = Unwrap::apply(space, "app", &spec).await?;
        let kind = ConditionType::ResolvedRefs;
        let message = unwrap.says(kind, "False", "NoTrustedPeers").await?;
        has(&message, "app=balancer")
    })
    .await
}

/// All matched pods have the sidecar as it should be.
const fn well(pods: u32) -> PodCounts {
    PodCounts {
        matched: pods,
        injected: pods,
        ..NONE
    }
}

async fn deploy(space: &Namespace) -> anyhow::Result<()> {
    let values = [("kind", "Deployment"), ("name", "app")];
    space
        .apply(&Manifest::read("workload.yaml", &values)?)
        .await
}

fn has(text: &str, part: &str) -> anyhow::Result<()> {
    ensure!(text.contains(part), "{part:?} is not in {text:?}");
    Ok(())
}
