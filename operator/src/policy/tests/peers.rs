//! Who may speak for clients.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use proptest::prelude::*;
use proxyunwrap_api::peers::{HeaderPolicy, TrustedPeer};

use super::fixture::{NAMESPACE, check, governed, networks, settings, web, world};
use crate::policy::{Networks, Problem, Resolved, Resolver, resolve};
use crate::world::World;

fn peers(yaml: &str) -> Vec<TrustedPeer> {
    serde_saphyr::from_str(yaml).unwrap()
}

fn resolved(yaml: &str, world: &World) -> Resolved {
    resolve(&peers(yaml), NAMESPACE, world, &settings(""))
}

/// Lists, and what is wrong.
#[track_caller]
fn finds(yaml: &str, world: &World, lists: &str, problems: &[&str]) {
    let Resolved {
        networks: found,
        problems: said,
    } = resolved(yaml, world);
    assert_eq!(networks(&found), lists);
    let said = said.iter().map(|problem| {
        let Problem { kind, message } = problem;
        format!("{kind:?}: {message}")
    });
    assert_eq!(said.collect::<Vec<_>>(), problems);
}

#[test]
fn networks_stand_in_the_list_of_their_header_and_neighbours_are_joined() {
    finds(
        "[{cidrs: [10.0.0.0/9, 10.128.0.0/9, 10.1.2.3, '2001:db8::/32']}, {cidrs: [172.16.0.0/12], header: Optional},
          {cidrs: [192.168.1.0/24], header: Forbid}, {cidrs: [192.168.2.0/24], header: Pass}]",
        &World::default(),
        "require 10.0.0.0/8 2001:db8::/32; optional 172.16.0.0/12; forbid 192.168.1.0/24; pass 192.168.2.0/24",
        &[],
    );
}

#[test]
fn networks_are_not_joined_across_another_list_whose_longer_prefix_decides() {
    finds(
        "[{cidrs: [10.0.0.0/8, 10.1.1.1]}, {cidrs: [10.1.0.0/16], header: Pass}]",
        &World::default(),
        "require 10.0.0.0/8 10.1.1.1/32; pass 10.1.0.0/16",
        &[],
    );
}

#[test]
fn ipv4_within_ipv6_is_ipv4() {
    finds(
        "[{cidrs: ['::ffff:10.0.0.0/104', '::ffff:192.0.2.9']}]",
        &World::default(),
        "require 10.0.0.0/8 192.0.2.9/32",
        &[],
    );
}

#[test]
fn nothing_said_is_the_clusters_list() {
    let yaml =
        "kind: ProxyUnwrap\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: web}}}";
    let policy = governed(&web(&[]), &world(yaml));
    assert_eq!(networks(&policy.peers), "require 192.0.2.0/24");
    finds(
        "[{defaults: true, header: Optional}]",
        &World::default(),
        "optional 192.0.2.0/24",
        &[],
    );
}

#[test]
fn a_network_that_is_written_twice_otherwise_is_refused() {
    let yaml = "kind: ProxyUnwrap\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: web}}, ports: [{name: http},
        {port: 81, trustedPeers: [{cidrs: [10.0.0.0/8]}, {cidrs: [10.9.9.9/8], header: Pass}]}]}";
    check(
        &web(&[]),
        &world(yaml),
        "InvalidPolicy: ProxyUnwrap a: ports[1].trustedPeers: 10.0.0.0/8 is there with header Require and with header Pass; keep one",
    );
    finds(
        "[{cidrs: [10.0.0.1, 10.0.0.1]}]",
        &World::default(),
        "require 10.0.0.1/32",
        &[],
    );
}

const BALANCERS: &str = "
kind: Namespace
metadata: {name: edge, labels: {team: net}}
---
kind: Namespace
metadata: {name: shop, labels: {team: web}}
---
kind: Pod
metadata: {name: lb-1, namespace: edge, labels: {app: lb}}
status: {phase: Running, podIPs: [{ip: 10.244.1.11}, {ip: 'fd00::11'}], podIP: 10.244.1.11}
---
kind: Pod
metadata: {name: lb-2, namespace: edge, labels: {app: lb}, deletionTimestamp: '2026-01-01T00:00:00Z'}
status: {phase: Running, podIP: 10.244.1.12}
---
kind: Pod
metadata: {name: lb-3, namespace: edge, labels: {app: lb}}
status: {phase: Failed, podIPs: [{ip: 10.244.1.13}]}
---
kind: Pod
metadata: {name: lb-4, namespace: edge, labels: {app: lb}}
status: {phase: Pending}
---
kind: Pod
metadata: {name: api, namespace: edge, labels: {app: api}}
status: {phase: Running, podIPs: [{ip: 10.244.1.14}]}
---
kind: Pod
metadata: {name: lb-5, labels: {app: lb}}
status: {phase: Running, podIPs: [{ip: 10.244.2.15}]}
---
kind: Node
metadata: {name: one, labels: {role: edge}}
status: {addresses: [{type: InternalIP, address: 192.0.2.61}]}
---
kind: Node
metadata: {name: two}
status: {addresses: [{type: InternalIP, address: 192.0.2.62}]}";

#[test]
fn pods_are_their_addresses_until_they_have_ended() {
    let world = world(BALANCERS);
    let edge = "require 10.244.1.11/32 10.244.1.12/32 fd00::11/128";
    let selector = "selector: {matchLabels: {app: lb}}";
    finds(
        &format!("[{{pods: {{{selector}}}}}]"),
        &world,
        "require 10.244.2.15/32",
        &[],
    );
    finds(
        &format!("[{{pods: {{{selector}, namespaces: [edge]}}}}]"),
        &world,
        edge,
        &[],
    );
    let by_label =
        format!("[{{pods: {{{selector}, namespaceSelector: {{matchLabels: {{team: net}}}}}}}}]");
    finds(&by_label, &world, edge, &[]);
    let all = format!("[{{pods: {{{selector}, namespaceSelector: {{}}}}}}]");
    finds(
        &all,
        &world,
        &edge.replace(" fd", " 10.244.2.15/32 fd"),
        &[],
    );
}

#[test]
fn nodes_are_all_or_those_with_labels() {
    let world = world(BALANCERS);
    finds(
        "[{nodes: {}}]",
        &world,
        "require 192.0.2.61/32 192.0.2.62/32",
        &[],
    );
    let edge = "[{nodes: {selector: {matchLabels: {role: edge}}}}]";
    finds(edge, &world, "require 192.0.2.61/32", &[]);
}

#[test]
fn references_that_lead_to_nobody_refuse_everybody_and_are_told() {
    let world = world(BALANCERS);
    for (yaml, problems) in [
        (
            "[{pods: {selector: {matchLabels: {app: x}}}}]",
            ["NoTrustedPeers: no pod with app=x has an address, in namespace shop"].as_slice(),
        ),
        (
            "[{pods: {selector: {matchLabels: {app: lb}}, namespaces: [gone]}}]",
            &[
                "NoTrustedPeers: namespace gone does not exist",
                "NoTrustedPeers: no pod with app=lb has an address, in namespace gone",
            ],
        ),
        (
            "[{pods: {selector: {matchLabels: {app: lb}}, namespaceSelector: {matchLabels: {team: x}}}}]",
            &["NoTrustedPeers: no pod with app=lb has an address, no namespace is selected"],
        ),
        (
            "[{nodes: {selector: {matchLabels: {role: x}}}}]",
            &["NoTrustedPeers: no node with role=x has an address"],
        ),
        (
            "[{pods: {selector: {matchExpressions: [{key: app, operator: Is}]}}}]",
            &[
                "Invalid: matchExpressions for app: operator \"Is\" is none of In, NotIn, Exists and DoesNotExist",
                "NoTrustedPeers: no pod with its selector has an address, in namespace shop",
            ],
        ),
        (
            "[{pods: {selector: {}}}]",
            &[
                "Invalid: an empty selector would be every pod; name a label",
                "NoTrustedPeers: no pod with its selector has an address, in namespace shop",
            ],
        ),
        (
            "[]",
            &["NoTrustedPeers: nobody who may send a header is named"],
        ),
    ] {
        finds(yaml, &world, "require 0.0.0.0/32", problems);
    }
    let nobody_yet = "[{pods: {selector: {matchLabels: {app: x}}}}, {nodes: {}, header: Pass}]";
    finds(
        nobody_yet,
        &world,
        "require 0.0.0.0/32; pass 192.0.2.61/32 192.0.2.62/32",
        &["NoTrustedPeers: no pod with app=x has an address, in namespace shop"],
    );
}

#[test]
fn a_pod_whose_references_lead_to_nobody_is_injected_all_the_same() {
    let yaml = "kind: ProxyUnwrap\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: web}},
        trustedPeers: [{pods: {selector: {matchLabels: {app: lb}}}}]}";
    let policy = governed(&web(&[]), &world(yaml));
    assert_eq!(networks(&policy.peers), "require 0.0.0.0/32");
}

#[test]
fn an_address_that_two_references_lead_to_is_the_firsts() {
    let hosts = "
kind: Pod
metadata: {name: lb, labels: {app: lb}}
status: {phase: Running, podIPs: [{ip: 192.0.2.61}]}";
    let world = world(&format!("{BALANCERS}\n---\n{hosts}"));
    finds(
        "[{pods: {selector: {matchLabels: {app: lb}}}}, {nodes: {}, header: Pass}]",
        &world,
        "require 10.244.2.15/32 192.0.2.61/32; pass 192.0.2.62/32",
        &[],
    );
    finds(
        "[{nodes: {}, header: Pass}, {cidrs: [192.0.2.61, 10.0.0.1]}]",
        &world,
        "require 10.0.0.1/32; pass 192.0.2.61/32 192.0.2.62/32",
        &[],
    );
}

#[test]
fn more_networks_than_a_configuration_holds_are_refused() {
    let mut world = World::default();
    for node in 0..=1_000_u32 {
        // Every second address: no two can be joined.
        let address = Ipv4Addr::from(0x0a00_0000 + 2 * node);
        let node = serde_json::json!({
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        });
        let node: Node = serde_json::from_value(node).unwrap();
        world.nodes.push(node.into());
    }
    let too_many = "1001 networks of one kind of header are more than 1000; give wider ones";
    let problems = resolved("[{nodes: {}}]", &world).problems;
    assert_eq!(problems[0].message, too_many);
    world.nodes.pop();
    assert_eq!(resolved("[{nodes: {}}]", &world).problems, []);
}

#[test]
fn what_is_remembered_is_what_would_be_found() {
    let world = world(BALANCERS);
    let settings = settings("");
    let mut resolver = Resolver::new(&world, &settings);
    let lb = peers("[{pods: {selector: {matchLabels: {app: lb}}}}]");
    let nodes = peers("[{nodes: {}}]");
    for (trusted, namespace) in [
        (&lb, "shop"),
        (&lb, "edge"),
        (&nodes, "shop"),
        (&lb, "shop"),
    ] {
        let want = resolve(trusted, namespace, &world, &settings);
        assert_eq!(*resolver.resolve(trusted, namespace), want);
    }
}

/// The longest prefix decides, as in the dataplane.
fn decided(networks: &[(IpNet, HeaderPolicy)], peer: IpAddr) -> Option<HeaderPolicy> {
    let holding = networks
        .iter()
        .filter(|(network, _)| network.contains(&peer));
    // Of several that are equal, the last in the iterator would win: the first shall.
    let longest = holding
        .rev()
        .max_by_key(|(network, _)| network.prefix_len());
    longest.map(|(_, header)| *header)
}

fn listed(networks: &Networks) -> Vec<(IpNet, HeaderPolicy)> {
    let lists = [
        (&networks.require, HeaderPolicy::Require),
        (&networks.optional, HeaderPolicy::Optional),
        (&networks.forbid, HeaderPolicy::Forbid),
        (&networks.pass, HeaderPolicy::Pass),
    ];
    let rows = lists.into_iter();
    rows.flat_map(|(list, header)| list.iter().map(move |network| (*network, header)))
        .collect()
}

fn any_network() -> impl Strategy<Value = (IpNet, HeaderPolicy)> {
    let header = prop::sample::select(vec![
        HeaderPolicy::Require,
        HeaderPolicy::Optional,
        HeaderPolicy::Forbid,
        HeaderPolicy::Pass,
    ]);
    // Few bits, so that networks touch, hold and equal one another.
    let network = (0..16_u32, 28..=32_u8).prop_map(|(host, len)| {
        let address = Ipv4Addr::from(0x0a00_0000 + host);
        IpNet::new(address.into(), len).unwrap().trunc()
    });
    (network, header)
}

proptest! {
    #[test]
    fn joining_networks_changes_nobodys_rule(
        networks in prop::collection::vec(any_network(), 1..12),
    ) {
        let mut unique: Vec<(IpNet, HeaderPolicy)> = Vec::new();
        for one in networks {
            if unique.iter().all(|(network, _)| *network != one.0) {
                unique.push(one);
            }
        }
        let trusted: Vec<_> = unique.iter().map(|(network, header)| {
            let text = format!("{{cidrs: ['{network}'], header: {header:?}}}");
            serde_saphyr::from_str::<TrustedPeer>(&text).unwrap()
        }).collect();
        let found = resolve(&trusted, NAMESPACE, &World::default(), &settings(""));
        let after = listed(&found.networks);
        for host in 0..16_u32 {
            let peer = Ipv4Addr::from(0x0a00_0000 + host).into();
            prop_assert_eq!(decided(&unique, peer), decided(&after, peer), "{} {:?}", peer, found);
        }
        let networks: std::collections::BTreeSet<_> = after.iter().map(|(network, _)| network).collect();
        prop_assert_eq!(networks.len(), after.len(), "a network in two lists");
    }
}
