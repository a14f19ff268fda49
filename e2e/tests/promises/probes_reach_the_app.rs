//! Promise: probes and lifecycle hooks that aim at an unwrapped port reach the app as before. The
//! kubelet sends no header, so the sidecar asks in its stead; a probe that should fail, fails.

use std::time::Duration;

use anyhow::{bail, ensure};
use proxyunwrap_e2e::cluster::{Manifest, Namespace, Pod, event, in_namespace, until};

const LIMIT: Duration = Duration::from_secs(30);

/// Containers of `probes.yaml`, by the kind of their probes.
const KINDS: [&str; 4] = ["http", "https", "grpc", "tcp"];

#[tokio::test]
async fn readiness_follows_the_app_down_and_up() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let pod = probed(space, "readinessProbe").await?;
        let asked = pod.logs("http", false).await?;
        ensure!(asked.contains("asked GET /start "), "{asked}");
        let header = asked
            .lines()
            .find(|line| line.contains("asked GET /asked "));
        ensure!(
            header.is_some_and(|line| line.to_lowercase().contains("x-asked-by: kubelet")),
            "the probe's own header is not in {asked}"
        );

        tell(&pod, "failing").await?;
        until("no container is ready", LIMIT, async || {
            ready(&pod, false).await
        })
        .await?;
        tell(&pod, "well").await?;
        until("every container is ready again", LIMIT, async || {
            ready(&pod, true).await
        })
        .await?;
        ensure!(pod.restarts().await? == 0, "readiness restarts nothing");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_app_that_is_not_alive_is_restarted() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let pod = probed(space, "livenessProbe").await?;
        ensure!(pod.restarts().await? == 0, "something was restarted before");
        tell(&pod, "failing").await?;
        until("every app was restarted", LIMIT, async || {
            for container in KINDS {
                let restarts = pod.container(container).await?.restart_count;
                ensure!(restarts == 1, "{container}: {restarts} times");
            }
            Ok(())
        })
        .await?;
        pod.ready().await?;
        let sidecar = pod.container("proxyunwrap").await?.restart_count;
        ensure!(sidecar == 0, "the sidecar was restarted, too");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_app_that_does_not_come_up_is_restarted() -> anyhow::Result<()> {
    in_namespace(async |space| {
        space
            .apply(&Manifest::read("startup.yaml", &[])?.unwrapped())
            .await?;
        let pod = space.pod("startup");
        until("the app was restarted", LIMIT, async || {
            let restarts = pod.container("app").await?.restart_count;
            ensure!(restarts > 0, "not yet");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test]
async fn hooks_reach_the_app() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let pod = hooked(space, "8080").await?;
        pod.ready().await?;
        has_asked(&pod, "/started").await?;
        pod.delete().await?;
        has_asked(&pod, "/stopping").await
    })
    .await
}

/// For the kubelet a hook has failed when there is no answer; whatever answer there is will do.
#[tokio::test]
async fn a_hook_that_nobody_answers_fails_its_container() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let pod = hooked(space, "8081").await?;
        let told = event::about(space, "Pod", pod.name(), "FailedPostStartHook").await?;
        eprintln!("{told}");
        Ok(())
    })
    .await
}

/// The pod with this probe in each of its containers, as soon as it is ready.
async fn probed(space: &Namespace, probe: &str) -> anyhow::Result<Pod> {
    let manifest = Manifest::read("probes.yaml", &[("probe", probe)])?;
    let manifest = manifest.annotated("proxyunwrap.dev/ports", "http,https,8083,tcp");
    space.apply(&manifest).await?;
    let pod = space.pod("probes");
    pod.ready().await?;
    Ok(pod)
}

/// The pod whose hook after the start asks at this port; nobody listens at 8081.
async fn hooked(space: &Namespace, port: &str) -> anyhow::Result<Pod> {
    let manifest = Manifest::read("hooks.yaml", &[("port", port)])?;
    let manifest = manifest.annotated("proxyunwrap.dev/ports", "8080,8081");
    space.apply(&manifest).await?;
    Ok(space.pod("hooks"))
}

async fn tell(pod: &Pod, state: &str) -> anyhow::Result<()> {
    for container in KINDS {
        pod.exec(container, &["/testapp", "tell", state]).await?;
    }
    Ok(())
}

async fn ready(pod: &Pod, want: bool) -> anyhow::Result<()> {
    for container in KINDS {
        if pod.container(container).await?.ready != want {
            bail!("{container} is{} ready", if want { " not" } else { "" });
        }
    }
    Ok(())
}

/// The app was asked for this path.
async fn has_asked(pod: &Pod, path: &str) -> anyhow::Result<()> {
    until(&format!("{path} was asked for"), LIMIT, async || {
        let log = pod.logs("asked", false).await?;
        ensure!(log.contains(&format!("asked GET {path} ")), "{log}");
        Ok(())
    })
    .await
}
