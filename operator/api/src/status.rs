//! What the operator answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator made of a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyUnwrapStatus {
    /// Generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Accepted, ResolvedRefs, Programmed, PodsUpToDate, PodSecurityCompatible, Ready.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Pods by what became of them.
    #[serde(default)]
    pub pods: PodCounts,
    /// Networks that may speak for clients at present, of all ports together.
    #[serde(default)]
    pub trusted_networks: u32,
}

/// Pods by what became of them. Pods that have ended or are on their way out do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCounts {
    /// That the resource is about.
    pub matched: u32,
    /// With the sidecar, outdated ones among them.
    pub injected: u32,
    /// With a sidecar of an earlier state: they need to be made anew.
    pub outdated: u32,
    /// Without the sidecar: refused, or made when nobody was asked.
    pub failed: u32,
}

/// Types of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// The spec can be carried out and no older resource claims its pods.
    Accepted,
    /// Every target and every trusted peer that is named exists.
    ResolvedRefs,
    /// Every injected pod has the present configuration.
    Programmed,
    /// No pod is outdated or was missed.
    PodsUpToDate,
    /// The namespace's Pod Security level admits the init container.
    PodSecurityCompatible,
    /// All of these.
    Ready,
}

impl ConditionType {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Accepted,
        Self::ResolvedRefs,
        Self::Programmed,
        Self::PodsUpToDate,
        Self::PodSecurityCompatible,
        Self::Ready,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::ResolvedRefs => "ResolvedRefs",
            Self::Programmed => "Programmed",
            Self::PodsUpToDate => "PodsUpToDate",
            Self::PodSecurityCompatible => "PodSecurityCompatible",
            Self::Ready => "Ready",
        }
    }
}
