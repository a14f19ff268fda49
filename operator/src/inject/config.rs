//! The dataplane's configuration file, from a policy.
//!
//! Every field that the dataplane has always had is written out, so that a pod shows how it is served.
//! A later field must be left out at its default: running pods have the dataplane of their time, and
//! that refuses what it does not know.

mod file;

use std::time::Duration;

use ipnet::IpNet;
use proxyunwrap_api::names::{ADMIN_PORT, NOBODY};
use proxyunwrap_api::ports::{App, PortHeader, PortTimeouts};
use proxyunwrap_api::values::Span;

use self::file::{AccessLog, Admin, Apps, Claims, Drain, File, Header, Peers, Port, Timeouts};
use super::{InjectedPort, ports};
use crate::policy::{Networks, Policy};
use crate::refusal::{Reason, Refusal};

/// Longest configuration in bytes: Kubernetes takes 256 KiB of annotations for each object, and others
/// need some, too.
const LONGEST: usize = 192 * 1024;

/// How long news of a balancer's new pod may take to reach a sidecar; its first connections wait
/// unread meanwhile.
const NEWS: Duration = Duration::from_secs(5);

/// The file for these ports.
pub(super) fn text(ports: &[InjectedPort], policy: &Policy) -> String {
    let spec = &policy.spec;
    let file = File {
        version: 1,
        ports: ports.iter().map(|port| one(port, policy)).collect(),
        limits: &spec.limits,
        access_log: AccessLog {
            mode: file::mode(spec.access_log.mode),
            tlvs: spec.access_log.tlvs.as_deref(),
        },
        drain: Drain {
            timeout: spec.drain.timeout,
        },
        admin: Admin { listen: ADMIN_PORT },
        // What `init` prepared: a pod keeps it, whatever its policy says by now.
        source_mode: "auto",
        workers: spec.dataplane.workers,
    };
    serde_saphyr::to_string(&file)
        .expect("plain values can be written, and a string takes them all")
}

/// Whether the file may stand in an annotation.
pub(super) fn fits(ports: &[InjectedPort], policy: &Policy) -> Result<(), Refusal> {
    let length = text(ports, policy).len();
    match length <= LONGEST {
        true => Ok(()),
        false => Err(Refusal::new(
            Reason::InvalidPolicy,
            format!(
                "the configuration would be {length} bytes, and an annotation has room for \
                 {LONGEST}; trust fewer, larger networks, or unwrap fewer ports in a pod"
            ),
        )),
    }
}

fn one<'a>(port: &'a InjectedPort, policy: &'a Policy) -> Port<'a> {
    let spec = &policy.spec;
    let said = ports::said(policy, port);
    let own_peers = said.and_then(|(index, _)| policy.port_peers.get(index)?.as_ref());
    let said = said.map(|(_, said)| said);
    Port {
        name: &port.name,
        port: port.port,
        listen: port.listen,
        app: app(said.and_then(|said| said.app.as_ref()), port.port),
        peers: peers(own_peers.unwrap_or(&policy.peers)),
        header: header(policy, said.and_then(|said| said.header.as_ref())),
        claims: Claims {
            refuse: &spec.claims.refuse,
            port_zero: file::port_zero(spec.claims.port_zero),
        },
        timeouts: timeouts(policy, said.and_then(|said| said.timeouts.as_ref())),
        missing_family: file::missing_family(spec.missing_family),
    }
}

fn app(said: Option<&App>, port: u16) -> Apps<'_> {
    match said {
        None => Apps::Port(port),
        Some(App {
            port: Some(port), ..
        }) => Apps::Port(*port),
        Some(App { ipv4, ipv6, .. }) => Apps::Addresses {
            ipv4: ipv4.as_deref(),
            ipv6: ipv6.as_deref(),
        },
    }
}

/// A list without anybody would be refused by the dataplane, and the pod would not start.
fn peers(networks: &Networks) -> Peers {
    let Networks {
        require,
        optional,
        forbid,
        pass,
        followed,
    } = networks;
    let mut require: Vec<IpNet> = require.iter().copied().collect();
    if [optional, forbid, pass].iter().all(|list| list.is_empty()) && require.is_empty() {
        require.extend(NOBODY.parse::<IpNet>());
    }
    Peers {
        require,
        optional: optional.iter().copied().collect(),
        forbid: forbid.iter().copied().collect(),
        pass: pass.iter().copied().collect(),
        untrusted_wait: followed.then_some(Span(NEWS)),
    }
}

fn header<'a>(policy: &'a Policy, said: Option<&'a PortHeader>) -> Header<'a> {
    let all = &policy.spec.header;
    let versions = said.and_then(|said| said.versions.as_deref());
    Header {
        versions: versions.unwrap_or(&all.versions),
        timeout: said.and_then(|said| said.timeout).unwrap_or(all.timeout),
        max_bytes: said
            .and_then(|said| said.max_bytes)
            .unwrap_or(all.max_bytes),
        tlvs: file::tlvs(all.tlvs),
        without_client: file::without_client(all.without_client),
        tcp6_ipv4_literal: all.tcp6_ipv4_literal,
    }
}

fn timeouts(policy: &Policy, said: Option<&PortTimeouts>) -> Timeouts {
    let all = &policy.spec.timeouts;
    Timeouts {
        connect: said.and_then(|said| said.connect).unwrap_or(all.connect),
        idle: said.and_then(|said| said.idle).or(all.idle),
    }
}
