//! Promise: a changed list of trusted peers reaches running pods within ten seconds. Nothing is
//! restarted, and a connection that is open meanwhile is not cut, even if its peer is trusted no more.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, ensure};
use futures_util::future::try_join3;
use proxyunwrap_e2e::cluster::{
    Balancer, Client, Manifest, Namespace, Unwrap, in_namespace, timed,
};

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn running_pods_follow_and_nothing_is_cut() -> anyhow::Result<()> {
    in_namespace(async |space| {
        trust(space, "[192.0.2.1]").await?;
        space.managed().await?;
        let values = [("kind", "Deployment"), ("name", "app")];
        space
            .apply(&Manifest::read("workload.yaml", &values)?)
            .await?;
        let values = [("name", "app"), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
        let pod = space.ready_pods("app=app", 1).await?.remove(0);
        let uid = pod.object().await?.metadata.uid;
        let server = space.service("app", false).await?;
        let (client, one, other) = try_join3(
            Client::start(space),
            Balancer::named(space, "one", vec![server]),
            Balancer::named(space, "other", vec![server]),
        )
        .await?;
        let (front, other_front) = (one.front(server).await?, other.front(server).await?);
        let (address, other_address) = (front.ip(), other_front.ip());
        is_refused(&client, front, "nobody is trusted").await?;

        trust(space, &format!("[{address}]")).await?;
        is_served(&client, front, "the one balancer is trusted").await?;
        let held = client.hold(front).await?;
        is_refused(&client, other_front, "the other balancer is not trusted").await?;
        trust(space, &format!("[{address}, {other_address}]")).await?;
        is_served(&client, other_front, "the other balancer is trusted, too").await?;
        trust(space, &format!("[{other_address}]")).await?;
        is_refused(&client, front, "the one balancer is trusted no more").await?;
        is_served(&client, other_front, "the other one still is").await?;

        let kept = held.close().await?;
        eprintln!("the open connection: {kept:?}");
        ensure!(kept.echoes > 0, "nothing went over it");
        ensure!(
            pod.object().await?.metadata.uid == uid,
            "the pod is another one"
        );
        ensure!(pod.restarts().await? == 0, "containers were restarted");
        Ok(())
    })
    .await
}

async fn trust(space: &Namespace, networks: &str) -> anyhow::Result<()> {
    let spec = format!(
        "{{selector: {{matchLabels: {{app: app}}}}, ports: [{{name: web}}], \
         trustedPeers: [{{cidrs: {networks}}}]}}"
    );
    Unwrap::apply(space, "app", &spec).await.map(drop)
}

async fn is_served(client: &Client, front: SocketAddr, what: &str) -> anyhow::Result<()> {
    timed(what, LIMIT, async || {
        let answer = client.ask(front).await?;
        ensure!(answer.reported == answer.local, "{answer:?}");
        Ok(())
    })
    .await
}

async fn is_refused(client: &Client, front: SocketAddr, what: &str) -> anyhow::Result<()> {
    timed(what, LIMIT, async || match client.ask(front).await {
        Ok(answer) => bail!("served: {answer:?}"),
        Err(_) => Ok(()),
    })
    .await
}
