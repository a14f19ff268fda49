//! Promise: behind a balancer that speaks the PROXY protocol the app sees the client's own address
//! and port, as if there were no balancer.
//!
//! client pod ──▶ HAProxy pod ──▶ Service address or node port ──▶ app's pod, both families.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{
    Answer, Balancer, Client, Manifest, Namespace, in_namespace, until,
};

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn an_app_on_every_address_sees_the_client() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let args = r#"[echo, --tcp, "0.0.0.0:8080", --tcp, "[::]:8080"]"#;
        every_way_shows_the_client(space, &echo(args)?, async |client, front| {
            client.ask(front).await
        })
        .await
    })
    .await
}

#[tokio::test]
async fn an_app_on_loopback_alone_sees_the_client() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let args = r#"[echo, --tcp, "127.0.0.1:8080", --tcp, "[::1]:8080"]"#;
        every_way_shows_the_client(space, &echo(args)?, async |client, front| {
            client.ask(front).await
        })
        .await
    })
    .await
}

#[tokio::test]
async fn nginx_sees_the_client() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let nginx = Manifest::read("nginx.yaml", &[])?;
        every_way_shows_the_client(space, &nginx, async |client, front| {
            client.ask_http(front).await
        })
        .await
    })
    .await
}

fn echo(args: &str) -> anyhow::Result<Manifest> {
    Manifest::read(
        "app.yaml",
        &[("name", "app"), ("image", "testapp"), ("args", args)],
    )
}

/// Asks by each way to the app, and compares what the app says with the client's own end.
async fn every_way_shows_the_client(
    space: &Namespace,
    app: &Manifest,
    ask: impl AsyncFn(&Client, SocketAddr) -> anyhow::Result<Answer>,
) -> anyhow::Result<()> {
    space.apply(&app.clone().unwrapped()).await?;
    space.pod("app").ready().await?;
    let ways = ways(space).await?;
    let balancer = Balancer::start(space, ways.iter().map(|(_, server)| *server).collect()).await?;
    let client = Client::start(space).await?;
    for (way, server) in ways {
        let front = balancer.front(server).await?;
        // A Service leads to a pod a moment after the pod is ready.
        let what = format!("{way} {server} answers through the balancer");
        let answer = until(&what, LIMIT, async || ask(&client, front).await).await?;
        let own = client.pod.address(server.is_ipv6()).await?;
        eprintln!(
            "{way} {server}: the app saw {}, the client is {}",
            answer.reported, answer.local
        );
        ensure!(
            answer.local.ip() == own,
            "the client's pod is {own}: {answer:?}"
        );
        ensure!(
            answer.reported == answer.local,
            "by {way} {server}: {answer:?}"
        );
    }
    Ok(())
}

/// The addresses at which a balancer may reach the app, each in both families.
async fn ways(space: &Namespace) -> anyhow::Result<Vec<(&'static str, SocketAddr)>> {
    let pod = space.pod("app");
    let port = space.node_port("app").await?;
    let mut ways = Vec::new();
    for ipv6 in [false, true] {
        ways.push(("Service address", space.service("app", ipv6).await?));
        ways.push(("node port", (pod.node_address(ipv6).await?, port).into()));
    }
    Ok(ways)
}
