//! Which resource, Service or annotation governs a pod, and who may speak for its clients.
//!
//! In the order of [`select`]: [`choice`] finds who governs, [`overlay`] lays annotations over what is
//! said there, [`mistakes`] refuses what the schema cannot see, [`peers`] turns references into
//! networks. Everything is a pure function of the world, so webhook and controller agree.
//!
//! It fails closed: a reference that leads to nobody is nobody, a selector that cannot be read
//! selects nothing, and an annotation that is not known refuses the pod.

mod choice;
mod mistakes;
mod overlay;
mod peers;
mod problems;
mod selector;
mod service;
mod target;

use std::collections::BTreeSet;
use std::fmt;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Pod;
use proxyunwrap_api::ProxyUnwrapSpec;

pub use self::choice::{means, served};
pub use self::peers::{Resolved, Resolver, SpecPeers, resolve};
pub use self::problems::{Problem, ProblemKind, problems};
pub use self::service::is_annotated;
use crate::refusal::{Reason, Refusal};
use crate::settings::Settings;
use crate::world::World;

/// What is to be done with a pod of a namespace. Its metadata may lack the namespace, and a name.
pub fn select(pod: &Pod, namespace: &str, world: &World, settings: &Settings) -> Selection {
    select_with(pod, namespace, &mut Resolver::new(world, settings))
}

/// The same for many pods: lists of peers that were resolved before are not resolved again.
pub fn select_with(pod: &Pod, namespace: &str, resolver: &mut Resolver<'_>) -> Selection {
    let (world, settings) = (resolver.world, resolver.settings);
    let choice = choice::choose(pod, namespace, world, settings);
    choice.map_or_else(
        |selection| selection,
        |choice| complete(choice, namespace, resolver),
    )
}

fn complete(choice: choice::Choice, namespace: &str, resolver: &mut Resolver<'_>) -> Selection {
    let choice::Choice { origin, spec } = choice;
    let found = resolver.of_spec(&spec, namespace);
    let invalid = found.problems.into_iter().find(Problem::is_invalid);
    if let Some(Problem { message, .. }) = invalid {
        let message = format!("{origin}: {message}");
        return Selection::Refused(Refusal::new(Reason::InvalidPolicy, message));
    }
    Selection::Governed(Box::new(Policy {
        origin,
        spec,
        peers: found.peers,
        port_peers: found.port_peers,
    }))
}

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

impl fmt::Display for Origin {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(name) => write!(to, "ProxyUnwrap {name}"),
            Self::Service(name) => write!(to, "Service {name}"),
            Self::Pod => to.write_str("pod"),
        }
    }
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
    /// Pods or nodes are among them, which come and go: a peer in no list may be in one soon.
    pub followed: bool,
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

#[cfg(test)]
mod tests;
