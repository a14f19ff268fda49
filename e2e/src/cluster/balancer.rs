//! HAProxy in a pod of its own, which sends the PROXY protocol, version 2.

use std::fmt::Write;
use std::net::SocketAddr;

use anyhow::Context;

use super::{Manifest, Namespace, Pod};

const FIRST_PORT: u16 = 9001;

/// A balancer with a port for each of its servers.
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
        let listeners = serde_json::to_string(&configuration(&servers)?)?;
        space
            .apply(&Manifest::read(
                "balancer.yaml",
                &[("configuration", &listeners)],
            )?)
            .await?;
        let pod = space.pod("balancer");
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

fn configuration(servers: &[SocketAddr]) -> anyhow::Result<String> {
    let mut text = GLOBAL.to_owned();
    for (place, server) in servers.iter().enumerate() {
        let port = port(place)?;
        writeln!(
            text,
            "listen to-{place}\n  bind :::{port} v4v6\n  server app {server} send-proxy-v2"
        )?;
    }
    Ok(text)
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
        let want = "listen to-0\n  bind :::9001 v4v6\n  server app 10.96.0.7:80 send-proxy-v2\n\
                    listen to-1\n  bind :::9002 v4v6\n  server app [fd00::7]:80 send-proxy-v2\n";
        assert_eq!(text.strip_prefix(GLOBAL), Some(want));
    }
}
