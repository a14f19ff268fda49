//! The configuration as it is written: every field, its meaning and its default.
//!
//! `docs/configuration.md` shows all of it; a test reads that page with these types.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::values::{App, Listen, Network, Span};
use crate::access_log::Tlv;
use crate::connection::intake::WithoutClient;
use crate::connection::ladder::MissingFamily;

/// Where the admin port is unless configured otherwise.
pub const ADMIN_PORT: u16 = 15090;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    /// Version of this format: 1.
    pub version: u32,
    /// The ports to unwrap, at least one.
    pub ports: Vec<Port>,
    /// How much is served at once.
    #[serde(default)]
    pub limits: Limits,
    /// One JSON line per connection on standard output.
    #[serde(default)]
    pub access_log: AccessLog,
    /// What SIGTERM does.
    #[serde(default)]
    pub drain: Drain,
    /// Health, metrics and inspection.
    #[serde(default)]
    pub admin: Admin,
    /// How the client's address becomes our source.
    #[serde(default)]
    pub source_mode: SourceMode,
    /// `SO_MARK` of app-side sockets, which needs NET_RAW or NET_ADMIN; 0 sets none.
    #[serde(default)]
    pub mark: u32,
    /// Worker threads; by default one per CPU that we may use. Read at start only.
    #[serde(default)]
    pub workers: Option<usize>,
}

/// One port to unwrap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Port {
    /// Its name in logs: lower-case letters, digits and `-`, as a Kubernetes port name.
    pub name: String,
    /// The port that peers dial; `init` steers it to `listen`. Without it nothing is steered.
    #[serde(default)]
    pub port: Option<u16>,
    /// Where we listen.
    pub listen: Listen,
    /// Where the app listens; by default `port` on loopback.
    #[serde(default)]
    pub app: Option<App>,
    /// Who may connect, and how their connections begin. Everybody else is refused.
    pub peers: Peers,
    /// What a header must be like.
    #[serde(default)]
    pub header: Header,
    /// Which clients a header may name.
    #[serde(default)]
    pub claims: Claims,
    /// How long things may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// A client of IPv6 and an app without: `refuse`, or `unspoofed` (the app sees loopback).
    #[serde(default)]
    pub missing_family: MissingFamily,
}

/// Networks by rule; the longest prefix decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Peers {
    /// A header is required.
    #[serde(default)]
    pub require: Vec<Network>,
    /// A header may be there. The peer must send something within the header time-out.
    #[serde(default)]
    pub optional: Vec<Network>,
    /// A header is refused; the peer is the client. It must send something in time, too.
    #[serde(default)]
    pub forbid: Vec<Network>,
    /// Bytes are not looked at; the peer is the client.
    #[serde(default)]
    pub pass: Vec<Network>,
    /// How long a peer in no list waits, unread, for a configuration that lists it; 10 s at most.
    #[serde(default)]
    pub untrusted_wait: Span,
}

/// What a header must be like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Header {
    /// Versions to accept: `v1`, `v2`.
    pub versions: Vec<Version>,
    /// From accept to the header's last byte; 3 s at least, as the specification asks.
    pub timeout: Span,
    /// Longest header in bytes, 232 to 65551.
    pub max_bytes: usize,
    /// `strict` refuses malformed TLVs, `skip` does not look (a checksum is verified all the same).
    pub tlvs: Tlvs,
    /// Headers that name nobody (UNKNOWN, UNSPEC, …): `asPeer` or `refuse`. LOCAL is always taken.
    pub without_client: WithoutClient,
    /// Accept an IPv4 address in a v1 TCP6 line, which nginx's stream module writes.
    pub tcp6_ipv4_literal: bool,
}

/// A header's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// Text.
    V1,
    /// Binary.
    V2,
}

/// How closely TLVs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tlvs {
    /// Malformed ones refuse the header.
    Strict,
    /// Skipped by length.
    Skip,
}

/// Which clients a header may name, beside the classes that are always refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Claims {
    /// Networks that no header may name.
    pub refuse: Vec<Network>,
    /// Clients with port 0: `refuse`, or `ephemeral` to dial from a port the kernel chooses.
    pub port_zero: PortZero,
}

/// What to do with a client whose port is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PortZero {
    /// Close.
    #[default]
    Refuse,
    /// Dial from a port that the kernel chooses.
    Ephemeral,
}

/// How long things may take on one port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Timeouts {
    /// To reach the app.
    pub connect: Span,
    /// Without a byte either way; null never ends an idle connection.
    pub idle: Option<Span>,
}

/// How much is served at once. The smallest of what is written, what the descriptors allow
/// ((RLIMIT_NOFILE − 64) / 2) and what the memory limit allows ((limit − 24 MiB) / 10 KiB).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Limits {
    /// Open connections. At the limit newcomers wait in the kernel's backlog.
    pub connections: Option<usize>,
    /// Connections still without their header. At the limit the oldest of them makes room.
    pub pending_headers: Option<usize>,
}

/// The access log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct AccessLog {
    /// `errors`, `all` or `off`.
    pub mode: AccessLogMode,
    /// TLVs to write, where a header has them.
    pub tlvs: Vec<Tlv>,
}

/// Which connections get a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessLogMode {
    /// None.
    Off,
    /// Those that ended by an error.
    Errors,
    /// Every one.
    All,
}

/// What SIGTERM does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Drain {
    /// How long open connections may take to finish; then they are cut.
    pub timeout: Span,
}

/// Health, metrics and inspection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Admin {
    /// Where; an empty list switches it off. Read at start only.
    pub listen: Listen,
}

/// How the client's address becomes our source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SourceMode {
    /// `routed` where every address is local, else `transparent` if we may.
    #[default]
    Auto,
    /// By the routes of `init`: no capability.
    Routed,
    /// By `IP_TRANSPARENT`: CAP_NET_RAW.
    Transparent,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            versions: vec![Version::V1, Version::V2],
            timeout: Span(Duration::from_secs(5)),
            max_bytes: 4096,
            tlvs: Tlvs::Strict,
            without_client: WithoutClient::AsPeer,
            tcp6_ipv4_literal: false,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Span(Duration::from_secs(5)),
            idle: None,
        }
    }
}

impl Default for AccessLog {
    fn default() -> Self {
        Self {
            mode: AccessLogMode::Errors,
            tlvs: Tlv::DEFAULT.to_vec(),
        }
    }
}

impl Default for Drain {
    fn default() -> Self {
        // Below Kubernetes' default grace period of 30 s.
        Self {
            timeout: Span(Duration::from_secs(25)),
        }
    }
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            listen: Listen::Port(ADMIN_PORT),
        }
    }
}
