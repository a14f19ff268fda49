//! Whether a resource can be carried out, beyond what its schema has checked: its targets and peers
//! exist, its namespace is served and admits the init container, and it is not an older one's twin.
//! Pure.

use std::collections::BTreeSet;

use kube::ResourceExt;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapSpec, names};

use super::plan::by_age;
use crate::inject;
use crate::policy::{self, Problem, ProblemKind, Resolver};
use crate::settings::{PodSecurityLevel, Settings};
use crate::world::World;

/// What there is to say about a resource before its pods are looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why its namespace is not served.
    pub not_served: Option<String>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// Whether it has targets and none of them exists.
    pub no_target: bool,
    /// Networks that may speak for clients, of all ports together.
    pub networks: u32,
    /// An older resource with the same selector or target.
    pub twin: Option<String>,
    /// What the namespace enforces.
    pub level: PodSecurityLevel,
}

/// What there is to say about a resource before its pods are looked at.
pub fn validate(
    unwrap: &ProxyUnwrap,
    namespace: &str,
    world: &World,
    settings: &Settings,
) -> Verdict {
    let problems = policy::problems(unwrap, world, settings);
    let targets = unwrap.spec.target_refs.as_ref().map_or(0, Vec::len);
    let missing = of(&problems, ProblemKind::TargetNotFound).count();
    let labels = world.namespace_labels(namespace);
    Verdict {
        not_served: not_served(namespace, world, settings),
        no_target: targets > 0 && missing >= targets,
        problems,
        networks: speakers(&unwrap.spec, namespace, world, settings),
        twin: twin(unwrap, namespace, world),
        level: inject::pod_security_level(&labels, settings),
    }
}

impl Verdict {
    /// What is wrong, of one kind; none if nothing is.
    pub fn wrong(&self, kind: ProblemKind) -> Option<String> {
        let messages: Vec<_> = of(&self.problems, kind)
            .map(|problem| problem.message.as_str())
            .collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

fn of(problems: &[Problem], kind: ProblemKind) -> impl Iterator<Item = &Problem> {
    problems.iter().filter(move |problem| problem.kind == kind)
}

/// How many networks may send a header.
fn speakers(spec: &ProxyUnwrapSpec, namespace: &str, world: &World, settings: &Settings) -> u32 {
    let found = Resolver::new(world, settings).of_spec(spec, namespace);
    let lists = std::iter::once(&found.peers).chain(found.port_peers.iter().flatten());
    let lists = lists.flat_map(|list| list.require.iter().chain(&list.optional));
    let all: BTreeSet<_> = lists.map(ToString::to_string).collect();
    let some = all.iter().filter(|network| *network != names::NOBODY);
    u32::try_from(some.count()).unwrap_or(u32::MAX)
}

/// An older resource that says the same of the same pods: a conflict even before there are pods.
fn twin(unwrap: &ProxyUnwrap, namespace: &str, world: &World) -> Option<String> {
    let others = world.unwraps.get(namespace).into_iter().flatten();
    let older = others.filter(|other| by_age(other) < by_age(unwrap));
    let twins = older.filter(|other| claims_the_same(&other.spec, &unwrap.spec));
    let oldest = twins.min_by_key(|other| by_age(other));
    oldest.map(|other| other.name_any())
}

fn claims_the_same(one: &ProxyUnwrapSpec, other: &ProxyUnwrapSpec) -> bool {
    let same_selector = one.selector.is_some() && one.selector == other.selector;
    let mut targets = one.target_refs.iter().flatten();
    same_selector
        || targets.any(|target| {
            let mut others = other.target_refs.iter().flatten();
            others.any(|other| other.kind == target.kind && other.name == target.name)
        })
}

/// Why a namespace is not served, with the fix; none if it is.
fn not_served(namespace: &str, world: &World, settings: &Settings) -> Option<String> {
    if policy::served(namespace, world, settings) {
        return None;
    }
    let key = names::INJECTION;
    let labels = world.namespace_labels(namespace);
    let said = labels.get(key).map(String::as_str);
    let never = namespace.starts_with("kube-") || settings.namespaces.exclude.contains(namespace);
    Some(match said {
        _ if never => format!(
            "the operator never serves namespace {namespace}; move the app to another, or take it off namespaces.exclude of the chart"
        ),
        Some("disabled") => format!(
            "namespace {namespace} has the label {key}=disabled; kubectl label namespace {namespace} {key}-"
        ),
        Some(_) | None => format!(
            "the operator serves only namespaces with the label {key}=enabled; kubectl label --overwrite namespace {namespace} {key}=enabled"
        ),
    })
}
