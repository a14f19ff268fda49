//! Who may speak for clients: references to the networks that they are at present.
//!
//! An address that is in two lists would be refused by the dataplane. Two networks that people wrote
//! are a contradiction, and told. Where a reference is one of them, the entry that stands first
//! decides: a balancer that moves must not make a resource invalid from one moment to the next.

mod found;
mod nodes;

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::ProxyUnwrapSpec;
use proxyunwrap_api::peers::{PeerNodes, PeerPods, TrustedPeer};

use self::found::Found;
use super::{Networks, Problem, selector};
use crate::settings::Settings;
use crate::world::World;

/// A list of peers, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// What they are at present; never nobody at all.
    pub networks: Networks,
    /// References that lead to nobody, and what cannot be carried out.
    pub problems: Vec<Problem>,
}

/// The lists of a spec, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpecPeers {
    /// The spec's own, or the cluster's.
    pub peers: Networks,
    /// Those of ports with a list of their own; in the order of `ports`.
    pub port_peers: Vec<Option<Networks>>,
    /// What is wrong with any of them.
    pub problems: Vec<Problem>,
}

/// Resolves a list of peers for resources and pods of a namespace.
pub fn resolve(
    trusted: &[TrustedPeer],
    namespace: &str,
    world: &World,
    settings: &Settings,
) -> Resolved {
    let mut found = Found::default();
    for peer in trusted {
        add(peer, namespace, world, settings, &mut found);
    }
    found.finish()
}

/// Resolves lists, and remembers them: many pods have the same.
#[derive(Debug)]
pub struct Resolver<'a> {
    pub(super) world: &'a World,
    pub(super) settings: &'a Settings,
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    trusted: Vec<TrustedPeer>,
    namespace: String,
    resolved: Resolved,
}

impl<'a> Resolver<'a> {
    /// One that knows nothing yet.
    pub fn new(world: &'a World, settings: &'a Settings) -> Self {
        Self {
            world,
            settings,
            known: Vec::new(),
        }
    }

    /// Resolves every list of a spec.
    pub fn of_spec(&mut self, spec: &ProxyUnwrapSpec, namespace: &str) -> SpecPeers {
        let defaults = [TrustedPeer::defaults()];
        let trusted = spec.trusted_peers.as_deref().unwrap_or(&defaults);
        let whole = self.resolve(trusted, namespace).clone();
        let mut peers = SpecPeers {
            peers: whole.networks,
            port_peers: Vec::new(),
            problems: under("trustedPeers", whole.problems),
        };
        for (index, port) in spec.ports.iter().flatten().enumerate() {
            let own = port.trusted_peers.as_deref();
            let own = own.map(|trusted| self.resolve(trusted, namespace).clone());
            peers.port_peers.push(own.map(|own| {
                let place = format!("ports[{index}].trustedPeers");
                peers.problems.extend(under(&place, own.problems));
                own.networks
            }));
        }
        peers
    }

    /// Resolves a list.
    pub fn resolve(&mut self, trusted: &[TrustedPeer], namespace: &str) -> &Resolved {
        let is = |known: &Known| known.namespace == namespace && known.trusted == trusted;
        let index = self.known.iter().position(is).unwrap_or_else(|| {
            self.known.push(Known {
                trusted: trusted.to_vec(),
                namespace: namespace.to_owned(),
                resolved: resolve(trusted, namespace, self.world, self.settings),
            });
            self.known.len() - 1
        });
        &self.known[index].resolved
    }
}

fn under(place: &str, problems: Vec<Problem>) -> Vec<Problem> {
    let problems = problems.into_iter().map(|problem| Problem {
        message: format!("{place}: {}", problem.message),
        ..problem
    });
    problems.collect()
}

fn add(peer: &TrustedPeer, namespace: &str, world: &World, settings: &Settings, found: &mut Found) {
    let TrustedPeer {
        cidrs,
        pods,
        nodes,
        defaults,
        header,
    } = peer;
    let cluster = settings.trusted_peers.iter();
    let cluster = cluster.filter(|_| *defaults == Some(true));
    for network in cidrs.iter().flatten().chain(cluster) {
        found.write(network.0, *header);
    }
    if pods.is_some() || nodes.is_some() {
        found.follow();
    }
    if let Some(pods) = pods {
        for address in pod_addresses(pods, namespace, world, found) {
            found.refer(address, *header);
        }
    }
    if let Some(nodes) = nodes {
        for address in node_addresses(nodes, world, found) {
            found.refer(address, *header);
        }
    }
}

fn pod_addresses(
    peers: &PeerPods,
    namespace: &str,
    world: &World,
    found: &mut Found,
) -> Vec<IpNet> {
    found.mistaken(selector::mistake_or_empty(&peers.selector));
    let namespaces = namespaces(peers, namespace, world, found);
    let pods = namespaces.iter().filter_map(|name| world.pods.get(*name));
    let pods = pods.flatten().filter(|pod| !has_ended(pod));
    let pods = pods.filter(|pod| selector::names_some(&peers.selector, pod.labels()));
    let addresses: Vec<_> = pods.flat_map(|pod| addresses(pod)).collect();
    if addresses.is_empty() {
        let labels = selector::text(&peers.selector);
        let place = match namespaces.as_slice() {
            [] => "no namespace is selected".to_owned(),
            [one] => format!("in namespace {one}"),
            more => format!("in namespaces {}", more.join(", ")),
        };
        found.nobody(format!("no pod with {labels} has an address, {place}"));
    }
    addresses
}

fn namespaces<'a>(
    peers: &'a PeerPods,
    own: &'a str,
    world: &'a World,
    found: &mut Found,
) -> Vec<&'a str> {
    match (&peers.namespaces, &peers.namespace_selector) {
        (Some(names), _) => {
            for name in names {
                if !world.namespaces.contains_key(name) {
                    found.nobody(format!("namespace {name} does not exist"));
                }
            }
            names.iter().map(String::as_str).collect()
        }
        (None, Some(by)) => {
            found.mistaken(selector::mistake(by));
            let all = world.namespaces.iter();
            let selected = all.filter(|(_, one)| selector::matches(by, one.labels()));
            selected.map(|(name, _)| name.as_str()).collect()
        }
        (None, None) => vec![own],
    }
}

/// A pod that is on its way out still has connections to make, and its address to itself.
fn has_ended(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn addresses(pod: &Pod) -> Vec<IpNet> {
    let Some(status) = &pod.status else {
        return Vec::new();
    };
    let all = status.pod_ips.iter().flatten().map(|one| one.ip.as_str());
    let one = status.pod_ip.as_deref();
    let read = all
        .chain(one)
        .filter_map(|text| text.parse::<IpAddr>().ok());
    read.map(IpNet::from).collect()
}

fn node_addresses(peers: &PeerNodes, world: &World, found: &mut Found) -> Vec<IpNet> {
    if let Some(by) = &peers.selector {
        found.mistaken(selector::mistake(by));
    }
    let selected = |labels| {
        let by = peers.selector.as_ref();
        by.is_none_or(|by| selector::matches(by, labels))
    };
    let nodes = world.nodes.iter().filter(|node| selected(node.labels()));
    let addresses: Vec<_> = nodes.flat_map(|node| nodes::addresses(node)).collect();
    if addresses.is_empty() {
        let labels = peers.selector.as_ref().map(selector::text);
        let labels = labels.map_or_else(String::new, |labels| format!(" with {labels}"));
        found.nobody(format!("no node{labels} has an address"));
    }
    addresses
}
