//! Where the Services of a namespace are.

use std::net::SocketAddr;

use anyhow::Context;
use k8s_openapi::api::core::v1::Service;

use super::Namespace;

impl Namespace {
    /// A Service's cluster address of a family, with its first port.
    ///
    /// # Errors
    /// It has none: the clusters of these tests have both families.
    pub async fn service(&self, name: &str, ipv6: bool) -> anyhow::Result<SocketAddr> {
        self.service_port(name, None, ipv6).await
    }

    /// A Service's cluster address of a family, with a port by name, or its first one.
    ///
    /// # Errors
    /// It has none: the clusters of these tests have both families.
    pub async fn service_port(
        &self,
        name: &str,
        port: Option<&str>,
        ipv6: bool,
    ) -> anyhow::Result<SocketAddr> {
        let spec = self
            .api::<Service>()
            .get(name)
            .await?
            .spec
            .unwrap_or_default();
        let mut listed = spec.cluster_ips.into_iter().flatten();
        let address = listed.find(|address| address.contains(':') == ipv6);
        let address = address.with_context(|| {
            let family = if ipv6 { "IPv6" } else { "IPv4" };
            format!("the Service {name} has no {family} address; e2e needs a dual-stack cluster")
        })?;
        let mut listed = spec.ports.into_iter().flatten();
        let found = listed.find(|one| port.is_none() || one.name.as_deref() == port);
        let port = found
            .with_context(|| {
                format!(
                    "the Service {name} has no port {}",
                    port.unwrap_or_default()
                )
            })?
            .port;
        Ok((address.parse::<std::net::IpAddr>()?, u16::try_from(port)?).into())
    }

    /// The port of every node that leads to a Service's first port.
    ///
    /// # Errors
    /// The Service has none.
    pub async fn node_port(&self, name: &str) -> anyhow::Result<u16> {
        let spec = self
            .api::<Service>()
            .get(name)
            .await?
            .spec
            .unwrap_or_default();
        let port = spec
            .ports
            .into_iter()
            .flatten()
            .find_map(|port| port.node_port);
        let port = port.with_context(|| format!("the Service {name} has no node port"))?;
        Ok(u16::try_from(port)?)
    }
}
