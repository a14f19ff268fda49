//! What a resource is about: pods by their labels, or Services and workloads by name.

#![allow(
    unreachable_pub,
    reason = "kube's KubeSchema makes such a type inside a function"
)]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Service or a workload of the resource's own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("!has(self.group) || self.group == (self.kind == 'Service' ? '' : 'apps')",
        "group is \"\" for a Service and \"apps\" for a Deployment, StatefulSet or DaemonSet"),
    validation = ("!has(self.sectionName) || self.kind == 'Service'",
        "sectionName is a Service's port name; other kinds have none")
)]
pub struct TargetRef {
    /// API group: empty for a Service, `apps` for the others. May be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub group: Option<String>,
    /// Kind of the target.
    pub kind: TargetKind,
    /// Name of the target.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of one port of a Service. Without it, every TCP port of the Service is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub section_name: Option<String>,
}

/// What may be targeted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TargetKind {
    /// The pods that it selects, at the ports that it leads to.
    Service,
    /// The pods of its ReplicaSets.
    Deployment,
    /// Its pods.
    StatefulSet,
    /// Its pods.
    DaemonSet,
}
