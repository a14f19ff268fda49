//! The operator as a person installs it: the chart, by helm.

mod release;
mod trust;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::ListParams;
use serde_json::{Value, json};

pub use self::trust::Bundle;
use super::namespace::connect;
use super::wait::until;
use super::{Namespace, Pod};

/// Where it is installed, and under which name.
const SPACE: &str = "proxyunwrap-system";
const RELEASE: &str = "proxyunwrap";

/// Its Deployment, and its Lease.
const NAME: &str = "proxyunwrap-operator";

/// The configuration of the webhook.
const WEBHOOK: &str = "proxyunwrap-webhook";

/// The Secret with what it is believed for.
const SECRET: &str = "proxyunwrap-webhook-certificate";

/// Its pods, by the chart's labels.
const LABEL: &str = "app.kubernetes.io/instance=proxyunwrap,app.kubernetes.io/component=operator";

/// `/livez`, `/readyz`, `/metrics`.
const ADMIN_PORT: u16 = 8080;

const LIMIT: Duration = Duration::from_secs(60);

/// The release of the tests. Only tests that run alone may change it.
pub struct Operator {
    client: Client,
    space: Namespace,
}

impl Operator {
    /// The one that is installed, or is about to be.
    ///
    /// # Errors
    /// There is no cluster.
    pub async fn connect() -> anyhow::Result<Self> {
        let client = connect().await?;
        let space = Namespace::existing(client.clone(), SPACE);
        Ok(Self { client, space })
    }

    /// Changes how many there are, and waits for that; without any, nobody answers the webhook.
    ///
    /// # Errors
    /// They are not there within a minute.
    pub async fn scale(&self, replicas: u32) -> anyhow::Result<()> {
        self.space.scale(NAME, replicas).await?;
        self.has(replicas).await
    }

    /// Waits until so many are ready, and all others are gone: one that was asked to end answers for
    /// some seconds more. Then, if there are any, until the API server asks them: the cluster's network
    /// leads to them a moment after they are ready.
    ///
    /// # Errors
    /// That is not so within a minute.
    pub async fn has(&self, replicas: u32) -> anyhow::Result<()> {
        let count = usize::try_from(replicas)?;
        let what = format!("{replicas} operators are ready, and no other is there");
        until(&what, LIMIT, async || {
            let pods = self.pods().await?;
            ensure!(pods.len() == count, "{} pods are there", pods.len());
            for pod in pods {
                pod.ready_within(Duration::ZERO).await?;
            }
            Ok(())
        })
        .await?;
        match replicas {
            0 => Ok(()),
            _ => self.reviews().await,
        }
    }

    async fn reviews(&self) -> anyhow::Result<()> {
        let space = Namespace::existing(self.client.clone(), "default");
        until("a new pod would have its sidecar", LIMIT, async || {
            let created = space.create_object(&new_pod(), true).await?;
            ensure!(
                created.object["spec"]["initContainers"].is_array(),
                "it has none"
            );
            Ok(())
        })
        .await
    }

    /// Its pods, ready or not.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        self.space.pods(LABEL).await
    }

    /// The pod that writes.
    ///
    /// # Errors
    /// Nobody does within a minute.
    pub async fn leader(&self) -> anyhow::Result<Pod> {
        let leases = self.space.api::<Lease>();
        until("an operator leads", LIMIT, async || {
            let spec = leases.get(NAME).await?.spec.unwrap_or_default();
            let holder = spec.holder_identity.context("nobody holds the Lease")?;
            let pods = self.pods().await?.into_iter();
            let found = pods.into_iter().find(|pod| holder.contains(pod.name()));
            found.with_context(|| format!("the Lease is {holder}'s, who is no pod"))
        })
        .await
    }

    /// What one of them counts, as Prometheus reads it.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn metrics(&self, pod: &Pod) -> anyhow::Result<String> {
        let path = format!(
            "/api/v1/namespaces/{SPACE}/pods/{}:{ADMIN_PORT}/proxy/metrics",
            pod.name()
        );
        let request = kube::api::Request::new(path).list(&ListParams::default())?;
        let text = self.client.request_text(request).await;
        text.with_context(|| format!("could not read the metrics of {}", pod.name()))
    }

    /// What each of them has written.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn logs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut logs = Vec::new();
        for pod in self.pods().await? {
            let log = pod.logs("operator", false).await?;
            logs.push((pod.name().to_owned(), log));
        }
        Ok(logs)
    }
}

/// One that asks for a sidecar by itself.
#[must_use]
pub fn new_pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "app-",
            "annotations": {"proxyunwrap.dev/ports": "8080"},
        },
        "spec": {"containers": [{"name": "app", "image": "localhost/testapp:dev"}]},
    })
}

fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("e2e is a folder of the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_is_where_it_is_looked_for() {
        assert!(root().join("charts").is_dir());
        assert!(root().join("e2e/manifests/values.yaml").is_file());
    }
}
