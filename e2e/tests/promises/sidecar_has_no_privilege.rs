//! Promise: the container that runs beside the app has no capability, cannot gain one, runs as
//! nobody, under seccomp, and cannot write its own root.
//!
//! Read from /proc on the node, where the kernel says it, not from the pod's spec.

use anyhow::{Context, ensure};
use proxyunwrap_e2e::cluster::{Manifest, Node, in_namespace};

const NONE: &str = "0000000000000000";

#[tokio::test]
async fn the_kernel_says_so() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let args = r#"[echo, --tcp, "0.0.0.0:8080"]"#;
        let values = [("name", "app"), ("image", "testapp"), ("args", args)];
        space
            .apply(&Manifest::read("app.yaml", &values)?.unwrapped())
            .await?;
        let pod = space.pod("app");
        pod.ready().await?;
        let node = Node::of(space, &pod).await?;
        let process = node.process(&pod, "proxyunwrap").await?;

        let status = node.proc(process, "status").await?;
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            is(&status, set, NONE)?;
        }
        is(&status, "NoNewPrivs", "1")?;
        // 2 is filter mode (proc_pid_status(5)).
        is(&status, "Seccomp", "2")?;
        // Real, effective, saved and file system user.
        is(&status, "Uid", "65532 65532 65532 65532")?;
        is(&status, "Gid", "65532 65532 65532 65532")?;

        let mounts = node.proc(process, "mounts").await?;
        let root = mounts
            .lines()
            .find(|line| line.split(' ').nth(1) == Some("/"));
        let root = root.context("no root in mounts")?;
        let options = root.split(' ').nth(3).unwrap_or_default();
        ensure!(options.split(',').any(|option| option == "ro"), "{root}");
        Ok(())
    })
    .await
}

/// A field of /proc/PID/status, its blanks made one.
fn is(status: &str, field: &str, want: &str) -> anyhow::Result<()> {
    let line = status
        .lines()
        .find(|line| line.split(':').next() == Some(field));
    let line = line.with_context(|| format!("no {field} in\n{status}"))?;
    let words: Vec<_> = line.split_whitespace().skip(1).collect();
    let got = words.join(" ");
    eprintln!("{field}: {got}");
    ensure!(got == want, "{field} is {got}, not {want}");
    Ok(())
}
