//! Promises that hold while the operator is disturbed: killed, away, upgraded, uninstalled. One test at
//! a time, because there is one release; each leaves it as `make cluster-install` made it.

mod admissions;
mod apiserver_restarts;
mod certificate_changes;
mod operator_is_away;
mod release_comes_and_goes;
mod replica_dies;
mod upgrade_restarts_one_by_one;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt;
use proxyunwrap_api::status::PodCounts;
use proxyunwrap_e2e::cluster::Operator;

/// What a resource says that governs one port of the workload.
const SPEC: &str = "{selector: {matchLabels: {app: app}}, ports: [{name: web}]}";

/// With the release as these values make it, which is put right again whatever happens.
async fn with_release(
    values: &[&str],
    test: impl AsyncFnOnce(&Operator) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let operator = Operator::connect().await?;
    operator.upgrade(values).await?;
    let result = AssertUnwindSafe(test(&operator)).catch_unwind().await;
    operator.upgrade(&["replicaCount=1"]).await?;
    operator.has(1).await?;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// So many pods, all as they should be.
const fn well(pods: u32) -> PodCounts {
    PodCounts {
        matched: pods,
        injected: pods,
        outdated: 0,
        failed: 0,
    }
}
