//! Promise: what the app's pod does besides taking the balancer's connections works as before:
//! connections out, names, the API server, probes by exec, and ports that are not ours.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{Answer, Client, Manifest, Namespace, Pod, in_namespace, until};

/// 8080 is steered to the dataplane, 8081 is not.
const ARGS: &str = r#"[echo, --tcp, "0.0.0.0:8080", --tcp, "[::]:8080", --tcp, "0.0.0.0:8081", --tcp, "[::]:8081"]"#;

#[tokio::test]
async fn connections_out_come_from_the_pods_own_address() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app(space).await?;
        let other = other(space).await?;
        for ipv6 in [false, true] {
            let direct = (other.address(ipv6).await?, 8080).into();
            for server in [direct, space.service("other", ipv6).await?] {
                let answer = ask(&app, server).await?;
                ensure!(answer.reported == answer.local, "{answer:?}");
                ensure!(answer.local.ip() == app.address(ipv6).await?, "{answer:?}");
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn names_resolve() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app(space).await?;
        other(space).await?;
        let mut want = Vec::new();
        for ipv6 in [false, true] {
            want.push(space.service("other", ipv6).await?.ip().to_string());
        }
        want.sort_unstable();
        let long = format!("other.{}.svc.cluster.local", space.name());
        for name in ["other", &long] {
            let found = app.exec("app", &["/testapp", "resolve", name]).await?;
            let found: Vec<String> = serde_json::from_str(&found)?;
            ensure!(found == want, "{name} is {found:?}, not {want:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_api_server_answers_the_pod() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app(space).await?;
        let certificate = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
        let url = "https://kubernetes.default.svc/version";
        let command = [
            "curl",
            "-sS",
            "--max-time",
            "10",
            "--cacert",
            certificate,
            url,
        ];
        let answer = app.exec("app", &command).await?;
        ensure!(answer.contains("\"gitVersion\""), "{answer}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn other_ports_of_the_pod_are_the_apps() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app(space).await?;
        let client = Client::start(space).await?;
        for ipv6 in [false, true] {
            let answer = client.ask((app.address(ipv6).await?, 8081).into()).await?;
            ensure!(answer.reported == answer.local, "{answer:?}");
        }
        Ok(())
    })
    .await
}

/// The probe asks the app on loopback, and would fail if something else answered there.
#[tokio::test]
async fn probes_by_exec_reach_the_app() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let app = app(space).await?;
        for container in ["proxyunwrap", "app"] {
            let restarts = app.container(container).await?.restart_count;
            ensure!(restarts == 0, "{container} restarted {restarts} times");
        }
        let loopback = ask(&app, "127.0.0.1:8080".parse()?).await?;
        ensure!(loopback.reported == loopback.local, "{loopback:?}");
        let own = (app.address(false).await?, 8080).into();
        let own = ask(&app, own).await?;
        ensure!(
            own.reported == own.local,
            "by the pod's own address: {own:?}"
        );
        Ok(())
    })
    .await
}

/// The app under test, with curl in its image; it is ready by its probe, which is one by exec.
async fn app(space: &Namespace) -> anyhow::Result<Pod> {
    let values = [("name", "app"), ("image", "node"), ("args", ARGS)];
    space
        .apply(&Manifest::read("app.yaml", &values)?.unwrapped())
        .await?;
    let pod = space.pod("app");
    pod.ready().await?;
    Ok(pod)
}

/// Another app, without the sidecar.
async fn other(space: &Namespace) -> anyhow::Result<Pod> {
    let values = [("name", "other"), ("image", "testapp"), ("args", ARGS)];
    space.apply(&Manifest::read("app.yaml", &values)?).await?;
    let pod = space.pod("other");
    pod.ready().await?;
    Ok(pod)
}

/// A Service leads to a pod a moment after the pod is ready.
async fn ask(from: &Pod, server: SocketAddr) -> anyhow::Result<Answer> {
    let limit = Duration::from_secs(10);
    until(&format!("{server} answers"), limit, async || {
        let command = ["/testapp", "ask", &server.to_string()];
        let found = from.exec("app", &command).await?;
        Ok(serde_json::from_str(&found)?)
    })
    .await
}
