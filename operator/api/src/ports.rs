//! The ports to unwrap, and what may be set for each.

#![allow(
    unreachable_pub,
    reason = "kube's KubeSchema makes such a type inside a function"
)]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::peers::TrustedPeer;
use crate::values::{Network, Span};

/// A port of the pod whose connections begin with a header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("has(self.name) != has(self.port)", "give exactly one of name and port"),
    validation = ("!has(self.trustedPeers) || self.trustedPeers.exists(peer, peer.header in ['Require', 'Optional'])",
        "trustedPeers names nobody who may send a header; one entry at least has header Require or Optional")
)]
pub struct Port {
    /// Name of a container's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 15), regex(pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"))]
    pub name: Option<String>,
    /// Number of the port that peers dial; it need not be declared by a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Where the app listens, if it isn't at the same port of loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<App>,
    /// Who may speak for clients at this port, instead of the resource's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub trusted_peers: Option<Vec<TrustedPeer>>,
    /// What a header must be like, where it differs from the resource's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<PortHeader>,
    /// How long things may take, where it differs from the resource's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<PortTimeouts>,
}

/// Protocols.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Protocol {
    /// TCP.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
}

/// Where the app listens, on loopback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("has(self.port) != (has(self.ipv4) || has(self.ipv6))",
        "give port, or ipv4 and ipv6 or one of them")
)]
pub struct App {
    /// A port of 127.0.0.1 and ::1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Where clients of IPv4 are dialled for, such as 127.0.0.1:8080.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^127(\.[0-9]{1,3}){3}:[1-9][0-9]{0,4}$"))]
    pub ipv4: Option<String>,
    /// Where clients of IPv6 are dialled for, such as `[::1]:8080`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\[::1\]:[1-9][0-9]{0,4}$"))]
    pub ipv6: Option<String>,
}

/// What a header must be like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "duration(self.timeout) >= duration('3s') && duration(self.timeout) <= duration('1h')",
     "message": "header.timeout is between 3s, as the specification asks, and 1h"},
    {"rule": "self.versions.all(version, self.versions.exists_one(other, other == version))",
     "message": "header.versions names a version twice"}
]))]
pub struct Header {
    /// Versions to accept.
    #[schemars(length(min = 1, max = 2))]
    pub versions: Vec<Version>,
    /// From accept to the header's last byte.
    pub timeout: Span,
    /// Longest header in bytes.
    #[schemars(range(min = 232, max = 65551))]
    pub max_bytes: u32,
    /// What malformed TLVs do to a header.
    pub tlvs: Tlvs,
    /// What is done with headers that name nobody (UNKNOWN, UNSPEC); LOCAL is always taken.
    pub without_client: WithoutClient,
    /// Accept an IPv4 address in a v1 TCP6 line, which some versions of nginx write.
    pub tcp6_ipv4_literal: bool,
}

/// What a header must be like at one port, where it differs from the resource's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("!has(self.timeout) || duration(self.timeout) >= duration('3s') && duration(self.timeout) <= duration('1h')",
        "header.timeout is between 3s, as the specification asks, and 1h"),
    validation = ("!has(self.versions) || self.versions.all(version, self.versions.exists_one(other, other == version))",
        "header.versions names a version twice")
)]
pub struct PortHeader {
    /// Versions to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2))]
    pub versions: Option<Vec<Version>>,
    /// From accept to the header's last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Longest header in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 232, max = 65551))]
    pub max_bytes: Option<u32>,
}

/// A header's version.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// Text.
    V1,
    /// Binary.
    V2,
}

/// What malformed TLVs do to a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Tlvs {
    /// It is refused.
    #[default]
    Strict,
    /// Nothing, they are not looked at; a checksum is verified all the same.
    Skip,
}

/// What is done with headers that name nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WithoutClient {
    /// The app is dialled as the peer.
    #[default]
    AsPeer,
    /// The connection is refused.
    Refuse,
}

/// Which clients no header may name, beside loopback, own, multicast, link-local addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Claims {
    /// Networks that no header may name.
    #[schemars(length(max = 64))]
    pub refuse: Vec<Network>,
    /// What is done with clients whose port is 0.
    pub port_zero: PortZero,
}

/// What is done with a client whose port is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PortZero {
    /// The connection is refused.
    #[default]
    Refuse,
    /// The app is dialled from a port that the kernel chooses.
    Ephemeral,
}

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "duration(self.connect) >= duration('100ms') && duration(self.connect) <= duration('5m')",
     "message": "timeouts.connect is between 100ms and 5m"},
    {"rule": "!has(self.idle) || duration(self.idle) >= duration('1s')",
     "message": "timeouts.idle is 1s at least"}
]))]
pub struct Timeouts {
    /// To reach the app.
    pub connect: Span,
    /// Ends a connection on which nothing moved for so long; without it nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Span>,
}

/// How long things may take at one port, where it differs from the resource's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("!has(self.connect) || duration(self.connect) >= duration('100ms') && duration(self.connect) <= duration('5m')",
        "timeouts.connect is between 100ms and 5m"),
    validation = ("!has(self.idle) || duration(self.idle) >= duration('1s')", "timeouts.idle is 1s at least")
)]
pub struct PortTimeouts {
    /// To reach the app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Span>,
    /// Ends a connection on which nothing moved for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Span>,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            versions: vec![Version::V1, Version::V2],
            timeout: Span(std::time::Duration::from_secs(5)),
            max_bytes: 4096,
            tlvs: Tlvs::default(),
            without_client: WithoutClient::default(),
            tcp6_ipv4_literal: false,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Span(std::time::Duration::from_secs(5)),
            idle: None,
        }
    }
}
