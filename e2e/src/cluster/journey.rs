//! The way of a connection: client pod ──▶ HAProxy pod ──▶ server, and what is seen at its end.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use futures_util::future::try_join;

use super::wait::until;
use super::{Answer, Balancer, Client, Namespace};

/// A Service leads to a pod a moment after the pod is ready.
const LIMIT: Duration = Duration::from_secs(10);

/// `false` is IPv4, `true` is IPv6.
pub const FAMILIES: [bool; 2] = [false, true];

/// A client and a balancer, in front of some servers.
pub struct Journey {
    /// Who asks.
    pub client: Client,
    /// Who sends the header.
    pub balancer: Balancer,
}

impl Journey {
    /// Starts both.
    ///
    /// # Errors
    /// One does not become ready.
    pub async fn start(space: &Namespace, servers: Vec<SocketAddr>) -> anyhow::Result<Self> {
        let balancer = Balancer::start(space, servers);
        let (client, balancer) = try_join(Client::start(space), balancer).await?;
        Ok(Self { client, balancer })
    }

    /// The app behind this server sees the client's own address and port, not the balancer's.
    ///
    /// # Errors
    /// It does not, or does not answer.
    pub async fn shows_the_client(&self, what: &str, server: SocketAddr) -> anyhow::Result<()> {
        let front = self.balancer.front(server).await?;
        let what = format!("{what} {server} answers through the balancer");
        let answer = until(&what, LIMIT, async || self.client.ask(front).await).await?;
        self.is_the_client(&what, server, &answer).await
    }

    /// The app behind this server, asked without a balancer, sees the client and not a byte too many:
    /// a port that is not unwrapped is the app's own.
    ///
    /// # Errors
    /// It does not, or does not answer.
    pub async fn is_untouched(&self, what: &str, server: SocketAddr) -> anyhow::Result<()> {
        let what = format!("{what} {server} answers without the balancer");
        let answer = until(&what, LIMIT, async || self.client.ask(server).await).await?;
        self.is_the_client(&what, server, &answer).await
    }

    async fn is_the_client(
        &self,
        what: &str,
        server: SocketAddr,
        answer: &Answer,
    ) -> anyhow::Result<()> {
        let own = self.client.pod.address(server.is_ipv6()).await?;
        let (reported, local) = (answer.reported, answer.local);
        eprintln!("{what}: the app saw {reported}, the client is {local}");
        ensure!(local.ip() == own, "the client's pod is {own}: {answer:?}");
        ensure!(reported == local, "{what}: {answer:?}");
        Ok(())
    }
}
