//! Redirects and guard as a table: what arrives goes to the sidecar, what leaves is ours.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};

use super::super::interfaces::Interface;
use super::super::rule::Family;
use super::super::table::{Action, Chain, Hook, HookPoint, Match, Statement, Table, TableFamily};
use super::{Redirect, Request};

pub(super) fn table(family: TableFamily, request: &Request<'_>) -> Table {
    let chains = match family {
        TableFamily::Netdev => on_interfaces(request),
        TableFamily::Inet => in_the_stack(request),
    };
    Table { family, chains }
}

/// Chains on the interfaces themselves. -500 and 500: before and after everyone else there.
fn on_interfaces(request: &Request<'_>) -> Vec<Chain> {
    let hook = |point, priority| {
        let devices = request.devices.to_vec();
        Some(Hook {
            point,
            priority,
            devices,
        })
    };
    let guarded = vec![Statement::always(Action::Jump("guard"))];
    let out = [guarded, answers(request.redirects)].concat();
    let mut chains = vec![
        Chain::regular("guard", guard(request)),
        Chain {
            name: "out",
            hook: hook(HookPoint::Egress, 500),
            statements: out,
        },
    ];
    if !request.redirects.is_empty() {
        let statements = arrivals(request.redirects);
        chains.push(Chain {
            name: "in",
            hook: hook(HookPoint::Ingress, -500),
            statements,
        });
    }
    chains
}

/// Chains every packet meets, which send those of our interfaces to the same statements.
/// Priorities: raw (before conntrack), filter, and after source NAT.
fn in_the_stack(request: &Request<'_>) -> Vec<Chain> {
    let hook = |point, priority| {
        Some(Hook {
            point,
            priority,
            devices: Vec::new(),
        })
    };
    let by = |matched: fn(String) -> Match, chain| {
        let names = request.devices.iter().cloned();
        names
            .map(|name| Statement::when(matched(name), Action::Jump(chain)))
            .collect::<Vec<_>>()
    };
    let output = by(Match::Oifname, "guard");
    let mut chains = vec![
        Chain::regular("guard", guard(request)),
        Chain {
            name: "output",
            hook: hook(HookPoint::Output, 0),
            statements: output,
        },
    ];
    if !request.redirects.is_empty() {
        let prerouting = by(Match::Iifname, "in");
        let postrouting = by(Match::Oifname, "out");
        chains.extend([
            Chain::regular("in", arrivals(request.redirects)),
            Chain::regular("out", answers(request.redirects)),
            Chain {
                name: "prerouting",
                hook: hook(HookPoint::Prerouting, -300),
                statements: prerouting,
            },
            Chain {
                name: "postrouting",
                hook: hook(HookPoint::Postrouting, 300),
                statements: postrouting,
            },
        ]);
    }
    chains
}

/// The sidecar's own ports are closed first: a rewritten packet must not meet that statement.
/// Routers answer a packet too big for them about the port they saw; unless the sidecar's socket
/// hears of it, every full-sized answer through a narrower path is lost.
fn arrivals(redirects: &[Redirect]) -> Vec<Statement> {
    let closed = redirects
        .iter()
        .map(|redirect| Statement::when(Match::TcpDestination(redirect.listen), Action::Drop));
    let steered = redirects.iter().map(|redirect| {
        let to = Action::SetTcpDestination(redirect.listen);
        Statement::when(Match::TcpDestination(redirect.port), to)
    });
    let too_big = [Family::V4, Family::V6].into_iter().flat_map(|family| {
        redirects.iter().map(move |Redirect { port, listen }| {
            let about = Match::TooBig(family, *port);
            Statement::when(about, Action::SetQuotedSource(family, *listen))
        })
    });
    closed.chain(steered).chain(too_big).collect()
}

fn answers(redirects: &[Redirect]) -> Vec<Statement> {
    let back = redirects.iter().map(|redirect| {
        let from = Action::SetTcpSource(redirect.port);
        Statement::when(Match::TcpSource(redirect.listen), from)
    });
    back.collect()
}

/// Only the namespace's own addresses may leave. Without it any process here could send as anyone:
/// for IPv4 because of our route, for IPv6 because of `IPV6_FREEBIND`. ARP is not IP and passes.
fn guard(request: &Request<'_>) -> Vec<Statement> {
    let (v4, v6): (Vec<_>, Vec<_>) = own_addresses(request.interfaces)
        .into_iter()
        .partition(is_v4);
    let unspecified = |family: Family| family.everything().network().into();
    let mut statements = pass(v4, [unspecified(Family::V4)], Family::V4);
    let has_v6 = |interface: &Interface| interface.addresses.iter().any(IpAddr::is_ipv6);
    if request.interfaces.iter().any(has_v6) {
        // Neighbour discovery and multicast reports, before and after an address is ours.
        let link_local = Ipv6Net::new_assert([0xfe80, 0, 0, 0, 0, 0, 0, 0].into(), 10).into();
        statements.extend(pass(v6, [link_local, unspecified(Family::V6)], Family::V6));
    }
    statements
}

fn pass(
    own: Vec<IpNet>,
    always: impl IntoIterator<Item = IpNet>,
    family: Family,
) -> Vec<Statement> {
    let sources = own.into_iter().chain(always);
    let pass = sources.map(|net| Statement::when(Match::Source(net), Action::Return));
    pass.chain([Statement::when(Match::Family(family), Action::Drop)])
        .collect()
}

/// Addresses of the namespace that packets may leave with.
fn own_addresses(interfaces: &[Interface]) -> Vec<IpNet> {
    let all = interfaces.iter().flat_map(|interface| &interface.addresses);
    let mut own: Vec<_> = all
        .filter(|ip| !ip.is_loopback() && !is_link_local(ip))
        .collect();
    own.sort();
    own.dedup();
    own.into_iter().map(|&ip| ip.into()).collect()
}

fn is_v4(net: &IpNet) -> bool {
    matches!(net, IpNet::V4(_))
}

fn is_link_local(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

#[cfg(test)]
mod tests;
