//! Who may speak for clients, and how their connections begin.

#![allow(
    unreachable_pub,
    reason = "kube's KubeSchema makes such a type inside a function"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Network;

/// Some peers and how their connections begin. References are resolved and kept current.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("[has(self.cidrs), has(self.pods), has(self.nodes), has(self.defaults)].filter(given, given).size() == 1",
        "give exactly one of cidrs, pods, nodes and defaults"),
    validation = ("!has(self.defaults) || self.defaults", "defaults is true or left out")
)]
pub struct TrustedPeer {
    /// Networks, such as 10.0.0.0/8; a bare address means that address alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub cidrs: Option<Vec<Network>>,
    /// Pods, at whatever addresses they have: a balancer that runs in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PeerPods>,
    /// Nodes: their addresses, and those that the pod network gives them. Connections through a
    /// Service with externalTrafficPolicy Cluster come from there, whoever made them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<PeerNodes>,
    /// The cluster's list that was given when the operator was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<bool>,
    /// How their connections begin.
    #[serde(default)]
    pub header: HeaderPolicy,
}

impl TrustedPeer {
    /// The cluster's list, as everywhere where nothing is said.
    pub fn defaults() -> Self {
        Self {
            cidrs: None,
            pods: None,
            nodes: None,
            defaults: Some(true),
            header: HeaderPolicy::Require,
        }
    }
}

/// How a peer's connection begins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum HeaderPolicy {
    /// With a header: balancers.
    #[default]
    Require,
    /// With or without: the peer can name any client, and must send something in time.
    Optional,
    /// Without; what begins like a header is closed. The peer is the client.
    Forbid,
    /// Bytes are not looked at, the peer is the client: for protocols where the server speaks first.
    Pass,
}

/// Pods that may speak for clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("!(has(self.namespaces) && has(self.namespaceSelector))",
        "give namespaces or namespaceSelector, not both"),
    validation = ("has(self.selector.matchLabels) && self.selector.matchLabels.size() > 0 || has(self.selector.matchExpressions) && self.selector.matchExpressions.size() > 0",
        "an empty selector would trust every pod; name a label of the balancer's")
)]
pub struct PeerPods {
    /// By their labels.
    pub selector: LabelSelector,
    /// In these namespaces. Without it and without namespaceSelector: in the resource's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub namespaces: Option<Vec<String>>,
    /// In namespaces with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
}

/// Nodes that may speak for clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerNodes {
    /// By their labels; every node without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}
