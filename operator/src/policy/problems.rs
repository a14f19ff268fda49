//! What is wrong with a resource, whatever its pods: for its status.

use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::target::{TargetKind, TargetRef};

use super::{Resolver, mistakes, selector, service, target};
use crate::settings::Settings;
use crate::world::World;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Of a closed set, for the reasons of conditions.
    pub kind: ProblemKind,
    /// Names the object and the fix.
    pub message: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// It cannot be carried out as it is written.
    Invalid,
    /// A target does not exist, or leads to no port.
    TargetNotFound,
    /// A reference to peers leads to nobody.
    NoTrustedPeers,
}

impl Problem {
    /// Whether pods cannot be injected because of it. What does not exist may come.
    pub fn is_invalid(&self) -> bool {
        self.kind == ProblemKind::Invalid
    }
}

/// All that is wrong with a resource, mistakes first.
pub fn problems(unwrap: &ProxyUnwrap, world: &World, settings: &Settings) -> Vec<Problem> {
    let namespace = unwrap.metadata.namespace.as_deref().unwrap_or_default();
    let spec = &unwrap.spec;
    let unreadable = spec.selector.as_ref().and_then(selector::mistake_or_empty);
    let mistake = unreadable
        .map(|mistake| format!("selector: {mistake}"))
        .or_else(|| mistakes::first(spec));
    let invalid = mistake.map(|mistake| problem(ProblemKind::Invalid, mistake));
    let mut problems: Vec<_> = invalid.into_iter().collect();
    for (index, target) in spec.target_refs.iter().flatten().enumerate() {
        let missing = missing(target, namespace, world, spec.ports.is_none());
        problems.extend(missing.map(|text| {
            let message = format!("targetRefs[{index}]: {text}");
            problem(ProblemKind::TargetNotFound, message)
        }));
    }
    let peers = Resolver::new(world, settings).of_spec(spec, namespace);
    problems.extend(peers.problems);
    problems.sort_by_key(|problem| problem.kind);
    problems
}

fn problem(kind: ProblemKind, message: String) -> Problem {
    Problem { kind, message }
}

fn missing(target: &TargetRef, namespace: &str, world: &World, ports: bool) -> Option<String> {
    let TargetRef { kind, name, .. } = target;
    match kind {
        TargetKind::Service => match target::service(target, namespace, world) {
            None => Some(format!("Service {name} does not exist")),
            Some(service) if !service::has_selector(service) => Some(format!(
                "Service {name} has no selector, so it leads to no pods"
            )),
            Some(service) if ports => {
                let ports = service::ports(service, target.section_name.as_deref());
                ports.err().map(|error| error.to_string())
            }
            Some(_) => None,
        },
        TargetKind::Deployment | TargetKind::StatefulSet | TargetKind::DaemonSet => {
            let mut workloads = world.workloads.get(namespace).into_iter().flatten();
            let exists = workloads.any(|one| one.kind == *kind && one.name == *name);
            (!exists).then(|| format!("{kind:?} {name} does not exist"))
        }
    }
}
