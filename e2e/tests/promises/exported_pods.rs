//! Promise: a pod that was exported from the cluster and is applied again is the same pod: what is
//! injected already stays as it is, and what is not meant is left alone.
//!
//! With PROXYUNWRAP_EXPORT=FOLDER the exports are kept there: they are cases for `operator/tests`.

use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use anyhow::ensure;
use proxyunwrap_api::names::answers;
use proxyunwrap_e2e::cluster::{Manifest, Namespace, in_namespace, run};
use serde_json::Value;

const EXPORT: &str = "PROXYUNWRAP_EXPORT";

#[tokio::test]
async fn an_injected_pod_stays_as_it_is() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app()?.unwrapped();
        let (before, after) = apply_again(space, &app, "injected").await?;
        for key in [answers::CONFIG, answers::STATUS] {
            let of = |pod: &Value| pod["metadata"]["annotations"][key].clone();
            ensure!(of(&before).is_string(), "{key} is not there: {before}");
            ensure!(
                of(&after) == of(&before),
                "{key}: {} became {}",
                of(&before),
                of(&after)
            );
        }
        is_same(&before, &after)
    })
    .await
}

#[tokio::test]
async fn a_pod_that_nobody_means_stays_as_it_is() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app()?;
        let (before, after) = apply_again(space, &app, "plain").await?;
        let annotations = &before["metadata"]["annotations"];
        ensure!(annotations.is_null(), "{annotations}");
        is_same(&before, &after)
    })
    .await
}

fn app() -> anyhow::Result<Manifest> {
    let args = r#"[echo, --tcp, "0.0.0.0:8080"]"#;
    let values = [("name", "app"), ("image", "testapp"), ("args", args)];
    Manifest::read("app.yaml", &values)
}

/// The pod as it was exported, and what came of it when it was applied again.
async fn apply_again(
    space: &Namespace,
    app: &Manifest,
    name: &str,
) -> anyhow::Result<(Value, Value)> {
    space.apply(app).await?;
    space.pod("app").ready().await?;
    let before = export(space).await?;
    if let Some(folder) = env::var_os(EXPORT) {
        fs::create_dir_all(&folder)?;
        fs::write(Path::new(&folder).join(format!("{name}.yaml")), &before)?;
    }
    space.pod("app").delete().await?;
    space.pod("app").gone(Duration::from_secs(60)).await?;
    let mut again: Value = serde_saphyr::from_str(&before)?;
    // kubectl takes it away, too: an object that is not there has no version.
    again["metadata"]["resourceVersion"] = Value::Null;
    space.create_object(&again, false).await?;
    let after = export(space).await?;
    Ok((
        serde_saphyr::from_str(&before)?,
        serde_saphyr::from_str(&after)?,
    ))
}

/// As a person does it.
async fn export(space: &Namespace) -> anyhow::Result<String> {
    let command = [
        "get",
        "pod",
        "app",
        "--namespace",
        space.name(),
        "-o",
        "yaml",
    ];
    run("kubectl", &command).await
}

/// What decides about a pod; what the cluster says about it is another matter.
fn is_same(before: &Value, after: &Value) -> anyhow::Result<()> {
    for part in ["/spec", "/metadata/annotations", "/metadata/labels"] {
        let (was, is) = (before.pointer(part), after.pointer(part));
        ensure!(was == is, "{part} was {was:#?}, is {is:#?}");
    }
    Ok(())
}
