//! `scale`: what a thousand pods of a hundred resources cost the operator. Figures, not a test; run by
//! `make scale` on the tests' cluster, whose nodes for this are fake.

mod crowd;
mod figures;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{Operator, cluster, in_namespaces};

use self::crowd::Crowd;
use self::figures::Figures;

const NAMESPACES: usize = 10;

/// Nodes of 250 pods at most.
const NODES: &str = "10";

/// Pods that are asked about when all the others are there.
const ASKED: usize = 2_000;

/// The promise: 99 of 100 admissions are answered within so many seconds.
const ADMISSION: f64 = 0.02;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let operator = Operator::connect().await?;
    cluster(&["kwok", "start", NODES]).await?;
    let result = in_namespaces(NAMESPACES, async |spaces| {
        measure(&operator, &Crowd::new(spaces)).await
    });
    let result = Box::pin(result).await;
    cluster(&["kwok", "stop"]).await?;
    result
}

async fn measure(operator: &Operator, crowd: &Crowd<'_>) -> anyhow::Result<()> {
    let leader = operator.leader().await?;
    let empty = Figures::of(operator, &leader).await?;
    let made = timed(crowd.fill()).await?;
    let full = Figures::of(operator, &leader).await?;
    let followed = timed(crowd.follow_a_new_balancer()).await?;
    let renewed = timed(crowd.trust_somebody_else()).await?;
    let last = Figures::of(operator, &leader).await?;

    crowd.ask(ASKED).await?;
    let asked = Figures::of(operator, &leader).await?;
    let crowded = full.admissions.since(&empty.admissions);
    let admitted = asked.admissions.since(&last.admissions);
    let p99 = admitted.quantile(0.99);
    for (what, figure) in [
        ("what", "figure".to_owned()),
        ("---", "---".to_owned()),
        (
            "pods, resources",
            format!("{}, {}", crowd.pods(), crowd.resources()),
        ),
        (
            "until all pods are made, injected and counted",
            format!("{made:.1?}"),
        ),
        (
            "from a balancer's new pod to the last pod that trusts it",
            format!("{followed:.1?}"),
        ),
        (
            "from the first changed resource of all to the last pod",
            format!("{renewed:.1?}"),
        ),
        ("admissions while all were made", crowded.says()),
        ("admissions when all were there", admitted.says()),
        (
            "resident memory: empty, full, after the changes",
            format!(
                "{}, {}, {} MiB",
                empty.mebibytes(),
                full.mebibytes(),
                last.mebibytes()
            ),
        ),
        (
            "processor time of all that",
            format!("{:.1} s", last.processor - empty.processor),
        ),
    ] {
        writeln!(std::io::stdout(), "| {what} | {figure} |")?;
    }
    ensure!(
        p99 <= ADMISSION,
        "99 of 100 admissions take {p99} s, not {ADMISSION}"
    );
    Ok(())
}

async fn timed(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    work.await?;
    Ok(began.elapsed())
}
