//! Eyes on a node: a privileged pod that sees the node's processes and enters pods' networks. It is
//! made through the API alone, so it works on every cluster.

use std::fmt::Write;

use anyhow::Context;

use super::{Manifest, Namespace, Pod};

const NAME: &str = "node";

/// What a person would look at by hand.
const RULES: [&[&str]; 6] = [
    &["ip", "address"],
    &["ip", "-4", "rule"],
    &["ip", "-6", "rule"],
    &["ip", "-4", "route", "show", "table", "all"],
    &["ip", "-6", "route", "show", "table", "all"],
    &["nft", "list", "ruleset"],
];

/// The node on which a pod runs.
pub struct Node {
    eyes: Pod,
}

impl Node {
    /// Starts the eyes on the node of this pod, in the test's namespace.
    ///
    /// # Errors
    /// The pod is on no node yet, or the eyes do not become ready.
    pub async fn of(space: &Namespace, pod: &Pod) -> anyhow::Result<Self> {
        let spec = pod.object().await?.spec.unwrap_or_default();
        let node = spec.node_name;
        let node = node.with_context(|| format!("the pod {} is on no node", pod.name()))?;
        space
            .apply(&Manifest::read("node.yaml", &[("node", &node)])?)
            .await?;
        let eyes = space.pod(NAME);
        eyes.ready().await?;
        Ok(Self { eyes })
    }

    /// The first process of one of a pod's containers.
    ///
    /// # Errors
    /// The container does not run.
    pub async fn process(&self, pod: &Pod, container: &str) -> anyhow::Result<u32> {
        let id = pod.container(container).await?.container_id;
        let id = id.with_context(|| format!("the container {container} was not made"))?;
        // As in containerd://0123…
        self.first_process(id.rsplit('/').next().unwrap_or_default())
            .await
    }

    /// A file of /proc/PID.
    ///
    /// # Errors
    /// The process has ended.
    pub async fn proc(&self, process: u32, file: &str) -> anyhow::Result<String> {
        self.run(&["show", &format!("/proc/{process}/{file}")])
            .await
    }

    /// Kills a process, as the kernel does when memory runs out.
    ///
    /// # Errors
    /// The process has ended.
    pub async fn kill(&self, process: u32) -> anyhow::Result<()> {
        self.run(&["kill", &process.to_string()]).await.map(drop)
    }

    /// Addresses, rules, routes and nf_tables of a pod's network, as a person would list them.
    ///
    /// # Errors
    /// The pod has no process. What a single command cannot tell is in the text.
    pub async fn rules(&self, pod: &Pod) -> anyhow::Result<String> {
        let uid = pod.object().await?.metadata.uid.unwrap_or_default();
        let process = self.first_process(&uid).await?.to_string();
        let mut text = String::new();
        for command in RULES {
            let found = self.run(&[&["in", &process], command].concat()).await;
            let found = found.unwrap_or_else(|error| format!("{error:#}"));
            writeln!(text, "$ {}\n{}", command.join(" "), found.trim_end())?;
        }
        Ok(text)
    }

    async fn first_process(&self, id: &str) -> anyhow::Result<u32> {
        Ok(self.run(&["pid", id]).await?.trim().parse()?)
    }

    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let command = [&["/testapp", "node"], arguments].concat();
        self.eyes.exec(NAME, &command).await
    }
}
