//! Why a pod that was meant is not injected.

use std::fmt;

/// A reason and a sentence that names the object and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Refusal {
    /// One of a closed set, for metrics and Events.
    pub reason: Reason,
    /// For people.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// Why a pod is not injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It shares the node's network, which `init` must not touch.
    HostNetwork,
    /// It has containers of our names that are not ours.
    AlreadyInjected,
    /// It runs on Windows.
    UnsupportedOs,
    /// The kubelet made it from a file: nothing can be added.
    StaticPod,
    /// No container has the port that is named.
    NoMatchingPort,
    /// Which of several ports is meant is not said.
    WhichPort,
    /// Its containers use a port that the sidecar needs.
    PortConflict,
    /// An annotation is unknown or malformed.
    InvalidAnnotation,
    /// The resource that is named does not exist.
    PolicyNotFound,
    /// The resource cannot be carried out.
    InvalidPolicy,
    /// The port speaks UDP.
    UdpPort,
    /// The namespace enforces a Pod Security level that refuses the init container.
    PodSecurityLevel,
    /// Another mesh captures the port.
    OtherMeshCapturesPort,
    /// The pod is not one that we can read.
    InvalidPod,
}

impl Reason {
    /// All.
    pub const ALL: [Self; 14] = [
        Self::HostNetwork,
        Self::AlreadyInjected,
        Self::UnsupportedOs,
        Self::StaticPod,
        Self::NoMatchingPort,
        Self::WhichPort,
        Self::PortConflict,
        Self::InvalidAnnotation,
        Self::PolicyNotFound,
        Self::InvalidPolicy,
        Self::UdpPort,
        Self::PodSecurityLevel,
        Self::OtherMeshCapturesPort,
        Self::InvalidPod,
    ];

    /// As it is written everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostNetwork => "HostNetwork",
            Self::AlreadyInjected => "AlreadyInjected",
            Self::UnsupportedOs => "UnsupportedOS",
            Self::StaticPod => "StaticPod",
            Self::NoMatchingPort => "NoMatchingPort",
            Self::WhichPort => "WhichPort",
            Self::PortConflict => "PortConflict",
            Self::InvalidAnnotation => "InvalidAnnotation",
            Self::PolicyNotFound => "PolicyNotFound",
            Self::InvalidPolicy => "InvalidPolicy",
            Self::UdpPort => "UdpPort",
            Self::PodSecurityLevel => "PodSecurityLevel",
            Self::OtherMeshCapturesPort => "OtherMeshCapturesPort",
            Self::InvalidPod => "InvalidPod",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
