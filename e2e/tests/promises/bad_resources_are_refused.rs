//! Promise: the API server itself refuses a resource that cannot be meant, in words that say what to
//! change, and takes every one that can.
//!
//! `bad_resources_are_refused.yaml` is the table: a spec, and what is said of it, if anything.

use anyhow::{bail, ensure};
use proxyunwrap_e2e::cluster::{Namespace, in_namespace};
use serde::Deserialize;
use serde_json::{Value, json};

const TABLE: &str = include_str!("bad_resources_are_refused.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// What the row shows, for specs that are taken.
    taken: Option<String>,
    /// A part of what is said, for specs that are refused.
    refused: Option<String>,
    spec: Value,
}

#[tokio::test]
async fn the_api_server_says_what_to_change() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let rows: Vec<Row> = serde_saphyr::from_str(TABLE)?;
        ensure!(rows.len() >= 40, "only {} rows", rows.len());
        let mut wrong = Vec::new();
        for row in &rows {
            if let Err(error) = check(space, row).await {
                wrong.push(format!("{}\n  {error:#}", row.spec));
            }
        }
        eprintln!("{} rows, {} wrong", rows.len(), wrong.len());
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await
}

async fn check(space: &Namespace, row: &Row) -> anyhow::Result<()> {
    let object = json!({
        "apiVersion": "proxyunwrap.dev/v1alpha1",
        "kind": "ProxyUnwrap",
        "metadata": {"name": "row"},
        "spec": row.spec,
    });
    let created = space.create_object(&object, true).await;
    match (&row.taken, &row.refused, created) {
        (Some(_), None, Ok(_)) => Ok(()),
        (Some(what), None, Err(error)) => Err(error.context(format!("refused: {what}"))),
        (None, Some(part), Ok(_)) => bail!("taken, instead of {part:?}"),
        (None, Some(part), Err(error)) => {
            let said = format!("{error:#}");
            ensure!(said.contains(part), "instead of {part:?} is said: {said}");
            Ok(())
        }
        _ => bail!("a row has either `taken` or `refused`"),
    }
}
