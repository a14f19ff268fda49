//! Which resource, Service or annotation governs a pod, and who may speak for its clients.

use std::collections::BTreeSet;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Pod;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapSpec};

use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::world::World;

/// Who says that a pod's ports are unwrapped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A resource of the pod's namespace.
    Resource(String),
    /// An annotated Service of the pod's namespace.
    Service(String),
    /// The pod's own annotations.
    Pod,
}

/// How a pod's ports are unwrapped: complete, with references resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Who says so.
    pub origin: Origin,
    /// What is said: the resource's spec or its defaults, with annotations laid over it, and with
    /// the ports that a Service leads to filled in. Without ports, the one that the pod declares.
    pub spec: ProxyUnwrapSpec,
    /// Who may speak for clients.
    pub peers: Networks,
    /// The same for a port with a list of its own; in the order of `spec.ports`.
    pub port_peers: Vec<Option<Networks>>,
}

/// Networks by how their connections begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// With a header.
    pub require: BTreeSet<IpNet>,
    /// With or without.
    pub optional: BTreeSet<IpNet>,
    /// Without.
    pub forbid: BTreeSet<IpNet>,
    /// Not looked at.
    pub pass: BTreeSet<IpNet>,
}

/// What is to be done with a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// Nobody means it.
    NotMeant,
    /// Somebody means it, and its own annotation or its namespace says no.
    Disabled,
    /// It is to be injected.
    Governed(Box<Policy>),
    /// It is meant, and that cannot be done.
    Refused(Refusal),
}

/// What is to be done with a pod of a namespace.
pub fn select(pod: &Pod, namespace: &str, world: &World, settings: &Settings) -> Selection {
    let _ = (pod, namespace, world, settings);
    Selection::NotMeant
}

/// Whether a resource is about a pod, by its selector or one of its targets; not whether it wins.
pub fn means(unwrap: &ProxyUnwrap, pod: &Pod, world: &World) -> bool {
    let _ = (unwrap, pod, world);
    false
}
