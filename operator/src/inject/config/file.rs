//! The file's fields, as the dataplane spells them; `docs/configuration.md` says what each means.

use ipnet::IpNet;
use proxyunwrap_api::ports::{PortZero, Tlvs, Version, WithoutClient};
use proxyunwrap_api::spec::{AccessLogMode, Limits, LogTlv, MissingFamily};
use proxyunwrap_api::values::{Network, Span};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File<'a> {
    pub(super) version: u32,
    pub(super) ports: Vec<Port<'a>>,
    pub(super) limits: &'a Limits,
    pub(super) access_log: AccessLog<'a>,
    pub(super) drain: Drain,
    pub(super) admin: Admin,
    pub(super) source_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workers: Option<u16>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    pub(super) port: u16,
    pub(super) listen: u16,
    pub(super) app: Apps<'a>,
    pub(super) peers: Peers,
    pub(super) header: Header<'a>,
    pub(super) claims: Claims<'a>,
    pub(super) timeouts: Timeouts,
    pub(super) missing_family: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Apps<'a> {
    Port(u16),
    Addresses {
        #[serde(skip_serializing_if = "Option::is_none")]
        ipv4: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ipv6: Option<&'a str>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Peers {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) require: Vec<IpNet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) optional: Vec<IpNet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) forbid: Vec<IpNet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) pass: Vec<IpNet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) untrusted_wait: Option<Span>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    pub(super) versions: &'a [Version],
    pub(super) timeout: Span,
    pub(super) max_bytes: u32,
    pub(super) tlvs: &'static str,
    pub(super) without_client: &'static str,
    pub(super) tcp6_ipv4_literal: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claims<'a> {
    pub(super) refuse: &'a [Network],
    pub(super) port_zero: &'static str,
}

#[derive(Serialize)]
pub(super) struct Timeouts {
    pub(super) connect: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) idle: Option<Span>,
}

#[derive(Serialize)]
pub(super) struct AccessLog<'a> {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tlvs: Option<&'a [LogTlv]>,
}

#[derive(Serialize)]
pub(super) struct Drain {
    pub(super) timeout: Span,
}

#[derive(Serialize)]
pub(super) struct Admin {
    pub(super) listen: u16,
}

pub(super) fn tlvs(tlvs: Tlvs) -> &'static str {
    match tlvs {
        Tlvs::Strict => "strict",
        Tlvs::Skip => "skip",
    }
}

pub(super) fn without_client(what: WithoutClient) -> &'static str {
    match what {
        WithoutClient::AsPeer => "asPeer",
        WithoutClient::Refuse => "refuse",
    }
}

pub(super) fn port_zero(what: PortZero) -> &'static str {
    match what {
        PortZero::Refuse => "refuse",
        PortZero::Ephemeral => "ephemeral",
    }
}

pub(super) fn missing_family(what: MissingFamily) -> &'static str {
    match what {
        MissingFamily::Refuse => "refuse",
        MissingFamily::Unspoofed => "unspoofed",
    }
}

pub(super) fn mode(mode: AccessLogMode) -> &'static str {
    match mode {
        AccessLogMode::Off => "off",
        AccessLogMode::Errors => "errors",
        AccessLogMode::All => "all",
    }
}
