//! The resource as a person writes it.

#![allow(
    unreachable_pub,
    reason = "kube's KubeSchema makes such a type inside a function"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "the printed columns share some"
)]

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::peers::TrustedPeer;
use crate::ports::{Claims, Header, Port, Timeouts};
use crate::quantity;
use crate::status::ProxyUnwrapStatus;
use crate::target::TargetRef;
use crate::values::Span;

/// Gives the apps in some pods the address of the real client: their balancers' PROXY headers are
/// taken off, and the app is dialled as the client.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "proxyunwrap.dev",
    version = "v1alpha1",
    kind = "ProxyUnwrap",
    plural = "proxyunwraps",
    shortname = "pu",
    category = "proxyunwrap",
    namespaced,
    status = "ProxyUnwrapStatus",
    derive = "PartialEq",
    doc = "Gives the apps in some pods the address of the real client: their balancers' PROXY headers are taken off, and the app is dialled as the client.",
    label("gateway.networking.k8s.io/policy", "Direct"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether every pod is served as written"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why, or why not"
    ),
    printcolumn(
        name = "Matched",
        type_ = "integer",
        json_path = ".status.pods.matched",
        description = "Pods that the resource is about"
    ),
    printcolumn(
        name = "Injected",
        type_ = "integer",
        json_path = ".status.pods.injected",
        description = "Pods with the sidecar"
    ),
    printcolumn(
        name = "Outdated",
        type_ = "integer",
        json_path = ".status.pods.outdated",
        description = "Pods with a sidecar of an earlier state, until they are restarted"
    ),
    printcolumn(
        name = "Failed",
        type_ = "integer",
        json_path = ".status.pods.failed",
        description = "Pods without the sidecar"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "What to do"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = ("has(self.selector) != has(self.targetRefs)", "give exactly one of selector and targetRefs"),
    validation = ("!has(self.selector) || has(self.selector.matchLabels) && self.selector.matchLabels.size() > 0 || has(self.selector.matchExpressions) && self.selector.matchExpressions.size() > 0",
        "an empty selector would take every pod of the namespace; name a label"),
    validation = ("!has(self.ports) || !has(self.targetRefs) || !self.targetRefs.exists(target, has(target.sectionName))",
        "sectionName already says which port; leave out ports, or sectionName"),
    validation = ("!has(self.ports) || self.ports.all(one, self.ports.exists_one(other, has(one.name) ? has(other.name) && other.name == one.name : has(other.port) && other.port == one.port))",
        "ports names a port twice"),
    validation = ("!has(self.trustedPeers) || self.trustedPeers.exists(peer, peer.header in ['Require', 'Optional'])",
        "trustedPeers names nobody who may send a header; one entry at least has header Require or Optional")
)]
pub struct ProxyUnwrapSpec {
    /// Pods of this namespace by their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Services and workloads of this namespace by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub target_refs: Option<Vec<TargetRef>>,
    /// Ports of the pod to unwrap. Without it: the ports that a targeted Service leads to, else the
    /// one TCP port that the pod's containers declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub ports: Option<Vec<Port>>,
    /// Who may speak for clients; everybody who is not in the list is refused. Without it: the
    /// cluster's list that was given when the operator was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub trusted_peers: Option<Vec<TrustedPeer>>,
    /// What a header must be like.
    #[serde(default)]
    pub header: Header,
    /// Which clients no header may name.
    #[serde(default)]
    pub claims: Claims,
    /// How long things may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// A client of IPv6 and an app without IPv6, or the other way round.
    #[serde(default)]
    pub missing_family: MissingFamily,
    /// How much a pod serves at once.
    #[serde(default)]
    pub limits: Limits,
    /// One JSON line per connection on the sidecar's standard output.
    #[serde(default)]
    pub access_log: AccessLog,
    /// What happens when a pod ends.
    #[serde(default)]
    pub drain: Drain,
    /// The sidecar itself.
    #[serde(default)]
    pub dataplane: Dataplane,
    /// How inbound connections reach the sidecar.
    #[serde(default)]
    pub steering: Steering,
    /// How the client's address becomes the sidecar's source.
    #[serde(default)]
    pub source_mode: SourceMode,
    /// What happens to pods with a sidecar of an earlier state, or without one.
    #[serde(default)]
    pub rollout: Rollout,
}

/// What is done when the app lacks the client's family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MissingFamily {
    /// The connection is refused.
    #[default]
    Refuse,
    /// The app is dialled from loopback: it does not see the client.
    Unspoofed,
}

/// How much a pod serves at once; never more than its descriptors and memory allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Open connections; at the limit newcomers wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub connections: Option<u32>,
    /// Connections still without their header; at the limit the oldest of them makes room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub pending_headers: Option<u32>,
}

/// The access log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessLog {
    /// Which connections get a line.
    #[serde(default)]
    pub mode: AccessLogMode,
    /// TLVs to write, where a header has them. Without it: those that are short and common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub tlvs: Option<Vec<LogTlv>>,
}

/// Which connections get a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AccessLogMode {
    /// None.
    Off,
    /// Those that ended by an error.
    #[default]
    Errors,
    /// Every one.
    All,
}

/// A TLV of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "named as in the access log, documented there")]
pub enum LogTlv {
    Alpn,
    Authority,
    UniqueId,
    Netns,
    SslVersion,
    SslCn,
    SslCipher,
    AwsVpceId,
    AzureLinkId,
    GcpPscConnectionId,
}

/// What happens when a pod ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "duration(self.timeout) <= duration('1h') && duration(self.wait) <= duration('5m')",
     "message": "drain.timeout is 1h at most, drain.wait 5m"}
]))]
pub struct Drain {
    /// The pod turns unready and still accepts for so long, while endpoints propagate.
    pub wait: Span,
    /// What is open then may take so long to finish.
    pub timeout: Span,
}

/// The sidecar itself. A change here makes pods outdated: it needs new pods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dataplane {
    /// Image of init container and sidecar, instead of the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// When to pull it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<PullPolicy>,
    /// Requests and limits of the sidecar, instead of the operator's. A pod that is Guaranteed stays so.
    #[serde(
        default,
        deserialize_with = "quantity::resources",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "quantity::schema")]
    pub resources: Option<ResourceRequirements>,
    /// Messages on standard error.
    #[serde(default)]
    pub log_level: LogLevel,
    /// Threads; without it one for each CPU that the sidecar may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub workers: Option<u16>,
    /// Whether the sidecar answers, for the app, probes and lifecycle hooks that aim at an unwrapped
    /// port. The kubelet sends no header.
    #[serde(default = "yes")]
    pub rewrite_probes: bool,
}

fn yes() -> bool {
    true
}

/// When to pull an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "Kubernetes' own words")]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// Which messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the usual words")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

/// How inbound connections reach the sidecar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Steering {
    /// Netdev, or Inet where the kernel has no egress hook.
    #[default]
    Auto,
    /// Port numbers are rewritten on the pod's interfaces (Linux 5.16); loopback is not touched.
    Netdev,
    /// Port numbers are rewritten in the stack; costs every packet of loopback a little.
    Inet,
}

/// How the client's address becomes the sidecar's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SourceMode {
    /// By routes of the init container: the sidecar needs no capability.
    #[default]
    Routed,
    /// By IP_TRANSPARENT: the sidecar gets NET_RAW. For pods where another agent owns the rules.
    Transparent,
}

/// What happens to pods with a sidecar of an earlier state, or without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "duration(self.interval) >= duration('1s') && duration(self.interval) <= duration('24h')",
     "message": "rollout.interval is between 1s and 24h"}
]))]
pub struct Rollout {
    /// Never, or restart their workloads one after the other.
    pub strategy: RolloutStrategy,
    /// Time between two restarts; the next one also waits until the last workload is available.
    pub interval: Span,
}

/// Whether workloads are restarted for us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutStrategy {
    /// Pods are counted, nothing is restarted.
    #[default]
    Never,
    /// Their Deployments, StatefulSets and DaemonSets are restarted, one after the other.
    RestartOutdated,
}

impl Default for Dataplane {
    fn default() -> Self {
        Self {
            image: None,
            image_pull_policy: None,
            resources: None,
            log_level: LogLevel::default(),
            workers: None,
            rewrite_probes: true,
        }
    }
}

impl Default for Drain {
    fn default() -> Self {
        // Together below Kubernetes' default grace period of 30 s.
        Self {
            wait: Span(std::time::Duration::from_secs(5)),
            timeout: Span(std::time::Duration::from_secs(20)),
        }
    }
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            strategy: RolloutStrategy::Never,
            interval: Span(std::time::Duration::from_secs(30)),
        }
    }
}
