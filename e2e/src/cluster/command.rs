//! Programs that a person would use on the cluster: kubectl and helm, found in PATH, and the one that
//! started the cluster.

use std::env;

use anyhow::{Context, bail};
use tokio::process::Command;

/// Names the program that started the cluster.
const CLUSTER: &str = "PROXYUNWRAP_CLUSTER";

/// Runs a program to its end and answers its standard output.
///
/// # Errors
/// It is not in PATH, or ends with anything but 0; the error has what it said.
pub async fn run(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let shown = format!("{program} {}", arguments.join(" "));
    let ended = Command::new(program).args(arguments).output().await;
    let ended =
        ended.with_context(|| format!("could not run `{shown}`; run the tests by `make e2e`"))?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        bail!("`{shown}`: {}: {}", ended.status, said.trim_end());
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// Runs a command of the program that started the cluster, such as `restart-apiserver`. `make e2e`
/// names the program: the tests themselves do not know which cluster they are on.
///
/// # Errors
/// Nobody named it, or it fails; the error has what it said.
pub async fn cluster(arguments: &[&str]) -> anyhow::Result<String> {
    let program = env::var(CLUSTER);
    let program = program
        .with_context(|| format!("{CLUSTER} does not name the cluster's program; run by make"))?;
    run(&program, arguments).await
}
