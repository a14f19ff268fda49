//! HAProxy in a pod of its own, which sends the PROXY protocol, version 2.

use std::fmt::Write;
use std::net::SocketAddr;

use anyhow::Context;

use super::{Manifest, Namespace, Pod};

const FIRST_PORT: u16 = 9001;

/// A pod with a port for each of its servers.
pub struct Balancer {
    /// The pod.
    pub pod: Pod,
    servers: Vec<SocketAddr>,
}

impl Balancer {
    /// Starts it in front of these servers.
    ///
    /// # Errors
    /// The pod does not become ready.
    pub async fn start(space: &Namespace, servers: Vec<SocketAddr>) -> anyhow::Result<Self> {
        Self::named(space, "balancer", servers).await
    }

    /// The same with a name of its own, where one balancer is not enough.
    ///
    /// # Errors
    /// The pod does not become ready.
    pub async fn named(
        space: &Namespace,
        name: &str,
        servers: Vec<SocketAddr>,
    ) -> anyhow::Result<Self> {
        let configuration = configuration(&servers)?;
        let values = [("name", name), ("configuration", &configuration)];
        space
            .apply(&Manifest::read("balancer.yaml", &values)?)
            .await?;
        let pod = space.pod(name);
        pod.ready().await?;
        Ok(Self { pod, servers })
    }

    /// Where clients reach this server, by a server's own family.
    ///
    /// # Errors
    /// The balancer is not in front of it, or its pod has no address of the family.
    pub async fn front(&self, server: SocketAddr) -> anyhow::Result<SocketAddr> {
        let place = self.servers.iter().position(|one| *one == server);
        let place = place.with_context(|| format!("{server} is not behind the balancer"))?;
        let address = self.pod.address(server.is_ipv6()).await?;
        Ok((address, port(place)?).into())
    }
}

/// Several of them, as a Deployment in front of one server. Their pods have the label `app: balancers`.
pub struct Balancers<'a> {
    space: &'a Namespace,
}

impl<'a> Balancers<'a> {
    /// Starts one pod.
    ///
    /// # Errors
    /// It does not become ready.
    pub async fn start(space: &'a Namespace, server: SocketAddr) -> anyhow::Result<Self> {
        let configuration = configuration(&[server])?;
        let values = [("configuration", &*configuration)];
        space
            .apply(&Manifest::read("balancers.yaml", &values)?)
            .await?;
        let balancers = Self { space };
        space.ready_pods("app=balancers", 1).await?;
        Ok(balancers)
    }

    /// Their pods, ready or not.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        self.space.pods("app=balancers").await
    }

    /// Changes how many there are, and does not wait.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn scale(&self, replicas: u32) -> anyhow::Result<()> {
        self.space.scale("balancers", replicas).await
    }

    /// Where clients reach the server through one of their pods.
    ///
    /// # Errors
    /// The pod has no address yet.
    pub async fn front(&self, pod: &Pod) -> anyhow::Result<SocketAddr> {
        Ok((pod.address(false).await?, FIRST_PORT).into())
    }
}

/// A pod may have millions of descriptors; without maxconn HAProxy makes room for them all.
const GLOBAL: &str = "\
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
";

/// As a JSON string, for a manifest.
fn configuration(servers: &[SocketAddr]) -> anyhow::Result<String> {
    let mut text = GLOBAL.to_owned();
    for (place, server) in servers.iter().enumerate() {
        let port = port(place)?;
        writeln!(
            text,
            "listen to-{place}\n  bind :::{port} v4v6\n  server app {server} send-proxy-v2"
        )?;
    }
    Ok(serde_json::to_string(&text)?)
}

fn port(place: usize) -> anyhow::Result<u16> {
    Ok(FIRST_PORT + u16::try_from(place)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_a_port_of_its_own() {
        let servers = [
            "10.96.0.7:80".parse().unwrap(),
            "[fd00::7]:80".parse().unwrap(),
        ];
        let text = configuration(&servers).unwrap();
        let text: String = serde_json::from_str(&text).unwrap();
        let want = "listen to-0\n  bind :::9001 v4v6\n  server app 10.96.0.7:80 send-proxy-v2\n\
                    listen to-1\n  bind :::9002 v4v6\n  server app [fd00::7]:80 send-proxy-v2\n";
        assert_eq!(text.strip_prefix(GLOBAL), Some(want));
    }
}
