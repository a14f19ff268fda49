//! Promise: a test that fails prints what a person needs, and cleans up behind itself.

use std::time::Duration;

use anyhow::{bail, ensure};
use k8s_openapi::api::core::v1::Namespace as Object;
use kube::{Api, Client};
use proxyunwrap_e2e::cluster::{Manifest, in_namespace, report, until};

/// The app listens on another port than its probe and the dataplane expect.
const WRONG: &str = r#"[echo, --tcp, "0.0.0.0:8082"]"#;

#[tokio::test]
async fn it_has_events_logs_and_the_networks_rules() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let values = [("name", "app"), ("image", "testapp"), ("args", WRONG)];
        space
            .apply(&Manifest::read("app.yaml", &values)?.unwrapped())
            .await?;
        let pod = space.pod("app");
        let error = pod.ready_within(Duration::from_secs(10)).await;
        let error = format!(
            "{:#}",
            error.err().unwrap_or_else(|| anyhow::anyhow!("ready"))
        );
        has(
            &error,
            "not within 10s: the pod app is ready; instead: Running; not Ready",
        )?;

        let report = report::of(space).await;
        eprintln!("{report}");
        // The event of the probe, with what the probe said.
        has(
            &report,
            "Unhealthy: Readiness probe failed: could not connect to 127.0.0.1:8080",
        )?;
        for container in ["proxyunwrap-init", "proxyunwrap", "app"] {
            has(&report, &format!("--- log of {container}\n"))?;
        }
        has(&report, "serving")?;
        has(&report, "$ ip -4 rule\n")?;
        has(&report, "from 127.0.0.0/8 iif lo lookup local")?;
        has(&report, "proxyunwrap {")
    })
    .await
}

#[tokio::test]
async fn a_failed_test_leaves_no_namespace() -> anyhow::Result<()> {
    let mut name = String::new();
    let failed = in_namespace(async |space| {
        name = space.name().to_owned();
        bail!("on purpose")
    })
    .await;
    ensure!(failed.is_err_and(|error| error.to_string() == "on purpose"));
    let all = Api::<Object>::all(Client::try_default().await?);
    until(
        "the namespace is gone",
        Duration::from_secs(60),
        async || {
            ensure!(all.get_opt(&name).await?.is_none(), "it is still there");
            Ok(())
        },
    )
    .await
}

fn has(text: &str, part: &str) -> anyhow::Result<()> {
    ensure!(text.contains(part), "{part:?} is not in\n{text}");
    Ok(())
}
