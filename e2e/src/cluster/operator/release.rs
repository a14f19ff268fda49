//! The release: installed, upgraded and uninstalled by helm, with the tests' values.

use anyhow::Context;

use super::{Operator, RELEASE, SPACE, root};
use crate::cluster::run;

impl Operator {
    /// Installs or upgrades the chart of this repository with the tests' values and these, each as
    /// for `--set`, and waits until it is there.
    ///
    /// # Errors
    /// helm does.
    pub async fn upgrade(&self, values: &[&str]) -> anyhow::Result<()> {
        let chart = root().join("charts/proxyunwrap");
        let chart = chart.to_str().context("the chart's path is no text")?;
        let file = root().join("e2e/manifests/values.yaml");
        let file = file.to_str().context("the repository's path is no text")?;
        let mut command = vec!["upgrade", "--install", RELEASE, chart];
        command.extend(["--namespace", SPACE, "--create-namespace"]);
        command.extend(["--wait", "--timeout", "60s", "--values", file]);
        for value in values {
            command.extend(["--set", value]);
        }
        run("helm", &command).await.map(drop)
    }

    /// Uninstalls it and waits until its pods are gone.
    ///
    /// # Errors
    /// helm does.
    pub async fn uninstall(&self) -> anyhow::Result<()> {
        let command = ["uninstall", RELEASE, "--namespace", SPACE, "--wait"];
        run("helm", &command).await?;
        self.has(0).await
    }

    /// Runs the release's own test, and answers what helm says.
    ///
    /// # Errors
    /// The test fails.
    pub async fn test(&self) -> anyhow::Result<String> {
        let command = [
            "test",
            RELEASE,
            "--namespace",
            SPACE,
            "--timeout",
            "60s",
            "--logs",
        ];
        run("helm", &command).await
    }
}
