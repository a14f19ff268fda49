//! Promise: a Job whose pods have the sidecar completes: the sidecar ends by itself, and well.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::batch::v1::Job;
use proxyunwrap_e2e::cluster::{Manifest, in_namespace, until};

#[tokio::test]
async fn the_sidecar_ends_after_the_job() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let begin = Instant::now();
        space
            .apply(&Manifest::read("job.yaml", &[])?.unwrapped())
            .await?;
        let jobs = space.api::<Job>();
        until("the job is complete", Duration::from_secs(60), async || {
            let status = jobs.get("job").await?.status.unwrap_or_default();
            if status.succeeded != Some(1) {
                bail!("{status:?}");
            }
            Ok(())
        })
        .await?;
        eprintln!("complete {:?} after it was made", begin.elapsed());

        let pods = space.pods("app=job").await?;
        ensure!(pods.len() == 1, "{} pods were needed", pods.len());
        let sidecar = pods[0].container("proxyunwrap").await?;
        let ended = sidecar.state.and_then(|state| state.terminated);
        let ended = ended.context("the sidecar still runs")?;
        ensure!(
            ended.exit_code == 0,
            "the sidecar ended with {}",
            ended.exit_code
        );
        Ok(())
    })
    .await
}
