//! Promise: a HorizontalPodAutoscaler on CPU works on injected pods: every container says how much it
//! asks for.

use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use proxyunwrap_e2e::cluster::{Journey, Manifest, in_namespace, timed};

/// metrics-server looks every 15 seconds at two points in time, the autoscaler every 15 seconds.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a_busy_deployment_gets_another_pod() -> anyhow::Result<()> {
    in_namespace(async |space| {
        space
            .apply(&Manifest::read("hpa.yaml", &[])?.unwrapped())
            .await?;
        space.ready_pods("app=app", 1).await?;
        let server = space.service("app", false).await?;
        let journey = Journey::start(space, vec![server]).await?;
        let front = journey.balancer.front(server).await?;
        let load = journey
            .client
            .load(front, Duration::from_millis(20))
            .await?;

        let autoscalers = space.api::<HorizontalPodAutoscaler>();
        timed("the Deployment is scaled up", LIMIT, async || {
            let status = autoscalers.get("app").await?.status;
            let status = status.context("the autoscaler says nothing yet")?;
            let mut conditions = status.conditions.iter().flatten();
            let active = conditions.find(|condition| condition.type_ == "ScalingActive");
            let active = active.context("no condition ScalingActive")?;
            let message = active.message.as_deref().unwrap_or_default();
            ensure!(active.status == "True", "ScalingActive: {message}");
            ensure!(status.desired_replicas == 2, "{status:?}");
            Ok(())
        })
        .await?;
        space.ready_pods("app=app", 2).await?;
        load.stop().await.map(drop)
    })
    .await
}
