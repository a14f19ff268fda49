//! Promise: when the sidecar or the app dies alone, traffic recovers by itself: the network stays
//! prepared, and neither needs the other's restart.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{
    Balancer, Client, Manifest, Namespace, Node, Pod, in_namespace, until,
};

/// The kubelet restarts a container that dies for the first time at once.
const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn after_the_sidecar_died_clients_are_seen_again() -> anyhow::Result<()> {
    in_namespace(async |space| kill_alone(space, "proxyunwrap", "app").await).await
}

#[tokio::test]
async fn after_the_app_died_clients_are_seen_again() -> anyhow::Result<()> {
    in_namespace(async |space| kill_alone(space, "app", "proxyunwrap").await).await
}

async fn kill_alone(space: &Namespace, victim: &str, other: &str) -> anyhow::Result<()> {
    let args = r#"[echo, --tcp, "0.0.0.0:8080"]"#;
    let values = [("name", "app"), ("image", "testapp"), ("args", args)];
    space
        .apply(&Manifest::read("app.yaml", &values)?.unwrapped())
        .await?;
    let pod = space.pod("app");
    pod.ready().await?;
    let server = space.service("app", false).await?;
    let balancer = Balancer::start(space, vec![server]).await?;
    let client = Client::start(space).await?;
    let front = balancer.front(server).await?;
    let node = Node::of(space, &pod).await?;
    until("clients are seen", LIMIT, async || {
        sees(&client, front).await
    })
    .await?;

    node.kill(node.process(&pod, victim).await?).await?;
    let begin = Instant::now();
    until("clients are seen again", LIMIT, async || {
        ensure!(
            restarts(&pod, victim).await? == 1,
            "{victim} was not restarted yet"
        );
        sees(&client, front).await
    })
    .await?;
    eprintln!(
        "{victim} died alone; clients were seen again after {:?}",
        begin.elapsed()
    );
    ensure!(
        restarts(&pod, other).await? == 0,
        "{other} was restarted, too"
    );
    Ok(())
}

async fn restarts(pod: &Pod, container: &str) -> anyhow::Result<i32> {
    Ok(pod.container(container).await?.restart_count)
}

async fn sees(client: &Client, front: SocketAddr) -> anyhow::Result<()> {
    let answer = client.ask(front).await?;
    ensure!(answer.reported == answer.local, "{answer:?}");
    Ok(())
}
