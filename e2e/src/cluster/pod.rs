//! One pod: waits for it, runs commands in it, reads what it wrote.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::future;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod as Object};
use kube::Api;
use kube::api::{AttachParams, AttachedProcess, DeleteParams, LogParams};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::containers::{check_hope, describe, statuses};
use super::wait::until;

/// How long a pod may take to become ready: images are on the node already.
const READY: Duration = Duration::from_secs(60);

/// A pod of a test's namespace.
#[derive(Clone)]
pub struct Pod {
    api: Api<Object>,
    name: String,
}

impl Pod {
    pub(super) fn new(api: Api<Object>, name: impl Into<String>) -> Self {
        Self {
            api,
            name: name.into(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As the API server knows it now.
    ///
    /// # Errors
    /// It is not there, or the API server does not answer.
    pub async fn object(&self) -> anyhow::Result<Object> {
        let object = self.api.get(&self.name).await;
        object.with_context(|| format!("could not get the pod {}", self.name))
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// It is not within a minute, or cannot become so.
    pub async fn ready(&self) -> anyhow::Result<Object> {
        self.ready_within(READY).await
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// It is not within `limit`, or cannot become so.
    pub async fn ready_within(&self, limit: Duration) -> anyhow::Result<Object> {
        let what = format!("the pod {} is ready", self.name);
        until(&what, limit, async || {
            let pod = self.object().await?;
            if !is_ready(&pod) {
                check_hope(&pod)?;
                bail!(describe(&pod));
            }
            Ok(pod)
        })
        .await
    }

    /// Its address of a family.
    ///
    /// # Errors
    /// It has none: the clusters of these tests have both families.
    pub async fn address(&self, ipv6: bool) -> anyhow::Result<IpAddr> {
        let status = self.object().await?.status.unwrap_or_default();
        let listed = status.pod_ips.into_iter().flatten().map(|entry| entry.ip);
        pick(listed, ipv6).with_context(|| format!("the pod {}", self.name))
    }

    /// Its node's address of a family.
    ///
    /// # Errors
    /// It has none: the clusters of these tests have both families.
    pub async fn node_address(&self, ipv6: bool) -> anyhow::Result<IpAddr> {
        let status = self.object().await?.status.unwrap_or_default();
        let listed = status.host_ips.into_iter().flatten().map(|entry| entry.ip);
        pick(listed, ipv6).with_context(|| format!("the node of the pod {}", self.name))
    }

    /// The status of one of its containers.
    ///
    /// # Errors
    /// It has no such container, or has not begun to make it.
    pub async fn container(&self, name: &str) -> anyhow::Result<ContainerStatus> {
        let status = self.object().await?.status.unwrap_or_default();
        let found = statuses(&status).find(|container| container.name == name);
        let found = found.cloned();
        found.with_context(|| format!("no status of container {name} of the pod {}", self.name))
    }

    /// How often its containers were restarted, all together.
    ///
    /// # Errors
    /// It is not there, or the API server does not answer.
    pub async fn restarts(&self) -> anyhow::Result<i32> {
        let status = self.object().await?.status.unwrap_or_default();
        Ok(statuses(&status)
            .map(|container| container.restart_count)
            .sum())
    }

    /// One of its annotations.
    ///
    /// # Errors
    /// It has none of this name.
    pub async fn annotation(&self, key: &str) -> anyhow::Result<String> {
        let annotations = self
            .object()
            .await?
            .metadata
            .annotations
            .unwrap_or_default();
        let found = annotations.get(key).cloned();
        found.with_context(|| format!("the pod {} has no annotation {key}", self.name))
    }

    /// Runs a command in a container to its end and answers its standard output.
    ///
    /// # Errors
    /// It cannot be run, or ends with anything but 0; the error has what it said.
    pub async fn exec(&self, container: &str, command: &[&str]) -> anyhow::Result<String> {
        let run = async {
            let mut process = self.start(container, command).await?;
            let ended = process.take_status();
            let (out, err) = future::join(read(process.stdout()), read(process.stderr())).await;
            let status = match ended {
                Some(ended) => ended.await.unwrap_or_default(),
                None => bail!("the end was not told"),
            };
            if status.status.as_deref() != Some("Success") {
                bail!("{} {}", status.message.unwrap_or_default(), err.trim_end());
            }
            Ok(out)
        };
        let shown = command.join(" ");
        run.await
            .with_context(|| format!("`{shown}` in {container} of the pod {}", self.name))
    }

    /// Starts a command in a container with its standard input and output.
    ///
    /// # Errors
    /// The API server or the node refuse.
    pub async fn start(
        &self,
        container: &str,
        command: &[&str],
    ) -> anyhow::Result<AttachedProcess> {
        let streams = AttachParams::default().stdin(true).stderr(true);
        let streams = streams.container(container);
        Ok(self
            .api
            .exec(&self.name, command.iter().copied(), &streams)
            .await?)
    }

    /// What a container has written, or what the one before its last restart had.
    ///
    /// # Errors
    /// There is no such container, or it never ran.
    pub async fn logs(&self, container: &str, previous: bool) -> anyhow::Result<String> {
        let which = LogParams {
            container: Some(container.to_owned()),
            previous,
            ..LogParams::default()
        };
        Ok(self.api.logs(&self.name, &which).await?)
    }

    /// Deletes it and does not wait.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.api
            .delete(&self.name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Waits until it is gone.
    ///
    /// # Errors
    /// It is still there after `limit`.
    pub async fn gone(&self, limit: Duration) -> anyhow::Result<()> {
        until(
            &format!("the pod {} is gone", self.name),
            limit,
            async || match self.api.get_opt(&self.name).await? {
                Some(pod) => bail!(describe(&pod)),
                None => Ok(()),
            },
        )
        .await
    }
}

/// Whether a pod's condition Ready is true.
fn is_ready(pod: &Object) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn pick(listed: impl Iterator<Item = String>, ipv6: bool) -> anyhow::Result<IpAddr> {
    let mut addresses = listed.filter_map(|text| text.parse::<IpAddr>().ok());
    let found = addresses.find(|address| address.is_ipv6() == ipv6);
    let family = if ipv6 { "IPv6" } else { "IPv4" };
    found.with_context(|| format!("has no {family} address; e2e needs a dual-stack cluster"))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // A stream that breaks has its cause in the command's status.
        let _ = stream.read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
