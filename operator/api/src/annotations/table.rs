//! The table: every key, and the field that it sets.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{Annotation, On, Set, Value, Wishes};
use crate::peers::{HeaderPolicy, TrustedPeer};
use crate::spec::{Dataplane, ProxyUnwrapSpec};

/// Keys that belong together.
#[derive(Debug)]
pub struct Section {
    /// A heading.
    pub title: &'static str,
    /// The keys.
    pub rows: &'static [Annotation],
}

/// Every key. `header-policy` stands after `trusted-peers`: it is about what that set.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Which pods, which ports",
        rows: WHICH,
    },
    Section {
        title: "Who may speak for clients",
        rows: PEERS,
    },
    Section {
        title: "What a header must be like",
        rows: HEADER,
    },
    Section {
        title: "How long, how many, what is written",
        rows: SERVING,
    },
    Section {
        title: "The sidecar itself",
        rows: SIDECAR,
    },
];

const WHICH: &[Annotation] = &[
    choice(
        "inject",
        On::PodOrService,
        Value::Bool,
        "`true`: unwrap the pod, or the pods that the Service selects. `false` on a pod: leave it alone, whoever means it; on a Service: as if there were no annotation.",
        |wishes, json| set(&mut wishes.inject, json),
    ),
    choice(
        "unwrap",
        On::Pod,
        Value::Name,
        "The ProxyUnwrap that governs the pod, whatever its selector says and however old others are.",
        |wishes, json| set(&mut wishes.unwrap, json),
    ),
    Annotation {
        field: "ports",
        ..choice(
            "ports",
            On::PodOrService,
            Value::Ports,
            "On a pod: its own ports; a number need not be declared by a container. On a Service: ports of the Service, which stand for their `targetPort`. Means `inject: \"true\"`, too. Without it: the Service's TCP ports, or the one TCP port that the pod's containers declare.",
            |wishes, json| set(&mut wishes.ports, json),
        )
    },
];

const PEERS: &[Annotation] = &[
    field(
        "trusted-peers",
        "trustedPeers",
        Value::Peers,
        "Balancers. `nodes` are the addresses of the cluster's nodes, kept current; `defaults` is the list that was given when the operator was installed. Takes the place of the whole list. Without it: `defaults`.",
        |spec, json| set(&mut spec.trusted_peers, json),
    ),
    field(
        "header-policy",
        "trustedPeers[].header",
        Value::Word(&["Require", "Optional"]),
        "How connections of balancers begin. With `Optional` each of them can name any client and may also send none.",
        header_policy,
    ),
    field(
        "refuse-clients",
        "claims.refuse",
        Value::Networks(64),
        "Clients that no header may name, beside loopback, own, multicast and link-local addresses.",
        |spec, json| set(&mut spec.claims.refuse, json),
    ),
    field(
        "port-zero",
        "claims.portZero",
        Value::Word(&["Refuse", "Ephemeral"]),
        "Headers that name a client with port 0: refused, or dialled from a port that the kernel chooses.",
        |spec, json| set(&mut spec.claims.port_zero, json),
    ),
];

const HEADER: &[Annotation] = &[
    field(
        "header-versions",
        "header.versions",
        Value::Words(&["v1", "v2"]),
        "Versions to accept.",
        |spec, json| set(&mut spec.header.versions, json),
    ),
    field(
        "header-timeout",
        "header.timeout",
        Value::Duration(Some("3s"), Some("1h")),
        "From accept to the header's last byte.",
        |spec, json| set(&mut spec.header.timeout, json),
    ),
    field(
        "max-header-bytes",
        "header.maxBytes",
        Value::Count(232, 65551),
        "Longest header.",
        |spec, json| set(&mut spec.header.max_bytes, json),
    ),
    field(
        "tlvs",
        "header.tlvs",
        Value::Word(&["Strict", "Skip"]),
        "What malformed TLVs do to a header: it is refused, or they are not looked at.",
        |spec, json| set(&mut spec.header.tlvs, json),
    ),
    field(
        "without-client",
        "header.withoutClient",
        Value::Word(&["AsPeer", "Refuse"]),
        "Headers that name nobody (UNKNOWN, UNSPEC): the app is dialled as the peer, or the connection is refused.",
        |spec, json| set(&mut spec.header.without_client, json),
    ),
    field(
        "tcp6-ipv4-literal",
        "header.tcp6Ipv4Literal",
        Value::Bool,
        "Accept an IPv4 address in a v1 TCP6 line, which some versions of nginx write.",
        |spec, json| set(&mut spec.header.tcp6_ipv4_literal, json),
    ),
];

const SERVING: &[Annotation] = &[
    field(
        "connect-timeout",
        "timeouts.connect",
        Value::Duration(Some("100ms"), Some("5m")),
        "To reach the app.",
        |spec, json| set(&mut spec.timeouts.connect, json),
    ),
    field(
        "idle-timeout",
        "timeouts.idle",
        Value::Duration(Some("1s"), None),
        "Ends a connection on which nothing moved for so long.",
        |spec, json| set(&mut spec.timeouts.idle, json),
    ),
    field(
        "missing-family",
        "missingFamily",
        Value::Word(&["Refuse", "Unspoofed"]),
        "A client of IPv6 and an app without, or the other way round: refused, or the app is dialled from loopback and does not see the client.",
        |spec, json| set(&mut spec.missing_family, json),
    ),
    field(
        "connections",
        "limits.connections",
        Value::Count(1, 10_000_000),
        "Open connections; at the limit newcomers wait.",
        |spec, json| set(&mut spec.limits.connections, json),
    ),
    field(
        "pending-headers",
        "limits.pendingHeaders",
        Value::Count(1, 10_000_000),
        "Connections still without their header; at the limit the oldest of them makes room.",
        |spec, json| set(&mut spec.limits.pending_headers, json),
    ),
    field(
        "access-log",
        "accessLog.mode",
        Value::Word(&["Off", "Errors", "All"]),
        "Which connections get a line on the sidecar's standard output.",
        |spec, json| set(&mut spec.access_log.mode, json),
    ),
    field(
        "access-log-tlvs",
        "accessLog.tlvs",
        Value::Words(&[
            "alpn",
            "authority",
            "unique_id",
            "netns",
            "ssl_version",
            "ssl_cn",
            "ssl_cipher",
            "aws_vpce_id",
            "azure_link_id",
            "gcp_psc_connection_id",
        ]),
        "TLVs to write, where a header has them. Without it: those that are short and common.",
        |spec, json| set(&mut spec.access_log.tlvs, json),
    ),
    field(
        "drain-wait",
        "drain.wait",
        Value::Duration(None, Some("5m")),
        "When the pod ends it turns unready and still accepts for so long, while endpoints propagate.",
        |spec, json| set(&mut spec.drain.wait, json),
    ),
    field(
        "drain-timeout",
        "drain.timeout",
        Value::Duration(None, Some("1h")),
        "What is open then may take so long to finish.",
        |spec, json| set(&mut spec.drain.timeout, json),
    ),
];

const SIDECAR: &[Annotation] = &[
    field(
        "image",
        "dataplane.image",
        Value::Image,
        "Image of init container and sidecar, instead of the operator's.",
        |spec, json| set(&mut spec.dataplane.image, json),
    ),
    field(
        "image-pull-policy",
        "dataplane.imagePullPolicy",
        Value::Word(&["Always", "IfNotPresent", "Never"]),
        "When to pull it.",
        |spec, json| set(&mut spec.dataplane.image_pull_policy, json),
    ),
    field(
        "cpu-request",
        "dataplane.resources.requests.cpu",
        Value::Quantity("10m"),
        "CPU that the sidecar asks for.",
        |spec, json| amount(&mut resources(spec).requests, "cpu", json),
    ),
    field(
        "memory-request",
        "dataplane.resources.requests.memory",
        Value::Quantity("16Mi"),
        "Memory that it asks for.",
        |spec, json| amount(&mut resources(spec).requests, "memory", json),
    ),
    field(
        "memory-limit",
        "dataplane.resources.limits.memory",
        Value::Quantity("64Mi"),
        "Memory that it may use; bounds its connections, too.",
        |spec, json| amount(&mut resources(spec).limits, "memory", json),
    ),
    field(
        "log-level",
        "dataplane.logLevel",
        Value::Word(&["error", "warn", "info", "debug"]),
        "Messages on the sidecar's standard error.",
        |spec, json| set(&mut spec.dataplane.log_level, json),
    ),
    field(
        "workers",
        "dataplane.workers",
        Value::Count(1, 256),
        "Threads; without it one for each CPU that the sidecar may use.",
        |spec, json| set(&mut spec.dataplane.workers, json),
    ),
    field(
        "rewrite-probes",
        "dataplane.rewriteProbes",
        Value::Bool,
        "Whether the sidecar answers, for the app, probes and lifecycle hooks that aim at an unwrapped port. The kubelet sends no header.",
        |spec, json| set(&mut spec.dataplane.rewrite_probes, json),
    ),
    field(
        "steering",
        "steering",
        Value::Word(&["Auto", "Netdev", "Inet"]),
        "How inbound connections reach the sidecar.",
        |spec, json| set(&mut spec.steering, json),
    ),
    field(
        "source-mode",
        "sourceMode",
        Value::Word(&["Routed", "Transparent"]),
        "How the client's address becomes the sidecar's source: by routes, without a capability, or by IP_TRANSPARENT with NET_RAW.",
        |spec, json| set(&mut spec.source_mode, json),
    ),
];

const fn choice(
    key: &'static str,
    on: On,
    value: Value,
    meaning: &'static str,
    set: fn(&mut Wishes, Json) -> serde_json::Result<()>,
) -> Annotation {
    Annotation {
        key,
        on,
        field: "",
        value,
        meaning,
        set: Set::Choice(set),
    }
}

const fn field(
    key: &'static str,
    field: &'static str,
    value: Value,
    meaning: &'static str,
    set: fn(&mut ProxyUnwrapSpec, Json) -> serde_json::Result<()>,
) -> Annotation {
    Annotation {
        key,
        on: On::PodOrService,
        field,
        value,
        meaning,
        set: Set::Field(set),
    }
}

fn set<T: DeserializeOwned>(field: &mut T, json: Json) -> serde_json::Result<()> {
    *field = T::deserialize(json)?;
    Ok(())
}

/// Balancers alone: who sends no header goes on so.
fn header_policy(spec: &mut ProxyUnwrapSpec, json: Json) -> serde_json::Result<()> {
    let policy = HeaderPolicy::deserialize(json)?;
    let peers = spec
        .trusted_peers
        .get_or_insert_with(|| vec![TrustedPeer::defaults()]);
    for peer in peers {
        match peer.header {
            HeaderPolicy::Require | HeaderPolicy::Optional => peer.header = policy,
            HeaderPolicy::Forbid | HeaderPolicy::Pass => {}
        }
    }
    Ok(())
}

fn resources(spec: &mut ProxyUnwrapSpec) -> &mut ResourceRequirements {
    let Dataplane { resources, .. } = &mut spec.dataplane;
    resources.get_or_insert_default()
}

type Amounts = Option<std::collections::BTreeMap<String, Quantity>>;

fn amount(amounts: &mut Amounts, what: &str, json: Json) -> serde_json::Result<()> {
    let quantity = Quantity::deserialize(json)?;
    amounts
        .get_or_insert_default()
        .insert(what.to_owned(), quantity);
    Ok(())
}
