//! Who governs a pod, and what is said there with the pod's own annotations laid over it.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use proxyunwrap_api::annotations::{self, Place, Wishes};
use proxyunwrap_api::names::{self, GROUP};
use proxyunwrap_api::ports::Port;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapSpec};

use super::{Origin, Selection, mistakes, overlay, selector, service, target};
use crate::refusal::{Reason, Refusal};
use crate::settings::{NamespaceMode, Settings};
use crate::world::World;

/// What governs a pod; its peers are not resolved yet.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) origin: Origin,
    pub(super) spec: ProxyUnwrapSpec,
}

/// Namespaces that are never served: without them there is no cluster to repair anything in.
const SYSTEM: [&str; 2] = ["kube-system", "kube-node-lease"];

/// What governs a pod, or what is to be done with it otherwise.
pub(super) fn choose(
    pod: &Pod,
    namespace: &str,
    world: &World,
    settings: &Settings,
) -> Result<Choice, Selection> {
    if says_no(pod) {
        return Err(Selection::Disabled);
    }
    if !served(namespace, world, settings) {
        return Err(match is_meant(pod, namespace, world) {
            true => Selection::Disabled,
            false => Selection::NotMeant,
        });
    }
    let wishes = annotations::parse(pod.annotations(), Place::Pod);
    let wishes = wishes.map_err(|error| refused(Reason::InvalidAnnotation, error.to_string()))?;
    match source(pod, namespace, &wishes, world)? {
        Source::Resource(unwrap) => by_resource(unwrap, pod, namespace, &wishes, world, settings),
        Source::Service(service) => by_service(service, &wishes, settings),
        Source::Pod => by_itself(&wishes, settings),
    }
    .map_err(Selection::Refused)
}

/// Whether pods of a namespace are injected at all.
pub fn served(namespace: &str, world: &World, settings: &Settings) -> bool {
    let rules = &settings.namespaces;
    if SYSTEM.contains(&namespace) || rules.exclude.contains(namespace) {
        return false;
    }
    let known = world.namespaces.get(namespace);
    let label = known.and_then(|known| known.labels().get(names::INJECTION));
    match (label.map(String::as_str), rules.mode) {
        (Some("disabled"), _) => false,
        (Some("enabled"), _) => true,
        (_, mode) => mode == NamespaceMode::OptOut,
    }
}

/// Whether a resource is about a pod, by its selector, by one of its targets, or because the pod names
/// it; not whether it wins.
pub fn means(unwrap: &ProxyUnwrap, pod: &Pod, world: &World) -> bool {
    let namespace = unwrap.metadata.namespace.as_deref().unwrap_or_default();
    let of_pod = pod.metadata.namespace.as_deref();
    if of_pod.is_some_and(|of_pod| of_pod != namespace) {
        return false;
    }
    let spec = &unwrap.spec;
    let by_selector = spec.selector.as_ref();
    let mut targets = spec.target_refs.iter().flatten();
    by_selector.is_some_and(|by| selector::names_some(by, pod.labels()))
        || targets.any(|target| target::is_about(target, namespace, pod, world))
        || said(pod, "unwrap").is_some_and(|name| unwrap.meta().name.as_deref() == Some(name))
}

/// Who governs a pod.
enum Source<'a> {
    Resource(&'a ProxyUnwrap),
    Service(&'a Service),
    Pod,
}

fn source<'a>(
    pod: &Pod,
    namespace: &str,
    wishes: &Wishes,
    world: &'a World,
) -> Result<Source<'a>, Selection> {
    let mut unwraps = world.unwraps.get(namespace).into_iter().flatten();
    if let Some(name) = &wishes.unwrap {
        let named = unwraps.find(|unwrap| unwrap.meta().name.as_ref() == Some(name));
        let named = named.ok_or_else(|| not_found(name, namespace))?;
        return Ok(Source::Resource(named));
    }
    if let Some(unwrap) = oldest(unwraps.filter(|unwrap| means(unwrap, pod, world))) {
        return Ok(Source::Resource(unwrap));
    }
    let services = world.services.get(namespace).into_iter().flatten();
    let annotated = services.filter(|service| service::is_annotated(service));
    if let Some(service) = oldest(annotated.filter(|service| service::selects(service, pod))) {
        return Ok(Source::Service(service));
    }
    match wishes.inject == Some(true) || wishes.ports.is_some() {
        true => Ok(Source::Pod),
        false => Err(Selection::NotMeant),
    }
}

fn by_resource(
    unwrap: &ProxyUnwrap,
    pod: &Pod,
    namespace: &str,
    wishes: &Wishes,
    world: &World,
    settings: &Settings,
) -> Result<Choice, Refusal> {
    let origin = Origin::Resource(unwrap.name_any());
    let mut spec = unwrap.spec.clone();
    if let Some(mistake) = mistakes::first(&spec) {
        let message = format!("{origin}: {mistake}");
        return Err(Refusal::new(Reason::InvalidPolicy, message));
    }
    overlay::fields(wishes, &mut spec, settings);
    spec.ports = match (&wishes.ports, &spec.ports) {
        (Some(wished), said) => Some(overlay::ports(wished, said.as_deref())),
        (None, Some(said)) => Some(said.clone()),
        (None, None) => target_ports(&spec, pod, namespace, world)?,
    };
    let reason = match wishes.sets_fields() || wishes.ports.is_some() {
        true => Reason::InvalidAnnotation,
        false => Reason::InvalidPolicy,
    };
    checked(origin, spec, reason)
}

/// The ports of all Services that are targets of a resource and lead to the pod.
fn target_ports(
    spec: &ProxyUnwrapSpec,
    pod: &Pod,
    namespace: &str,
    world: &World,
) -> Result<Option<Vec<Port>>, Refusal> {
    let mut ports = Vec::new();
    for target in spec.target_refs.iter().flatten() {
        let Some(service) = target::service(target, namespace, world) else {
            continue;
        };
        if service::selects(service, pod) {
            let section = target.section_name.as_deref();
            let more = service::ports(service, section);
            let more = more.map_err(|error| error.refusal(Reason::InvalidPolicy))?;
            service::unite(&mut ports, more);
        }
    }
    Ok(Some(ports).filter(|ports| !ports.is_empty()))
}

fn by_service(service: &Service, wishes: &Wishes, settings: &Settings) -> Result<Choice, Refusal> {
    let origin = Origin::Service(service.name_any());
    let said = annotations::parse(service.annotations(), Place::Service)
        .map_err(|error| Refusal::new(Reason::InvalidAnnotation, format!("{origin}: {error}")))?;
    let mut spec = ProxyUnwrapSpec::default();
    overlay::fields(&said, &mut spec, settings);
    overlay::fields(wishes, &mut spec, settings);
    spec.ports = match &wishes.ports {
        Some(wished) => Some(overlay::ports(wished, None)),
        None => service::wished_ports(service, said.ports.as_deref())
            .map(|ports| Some(ports).filter(|ports| !ports.is_empty()))
            .map_err(|error| error.refusal(Reason::InvalidAnnotation))?,
    };
    checked(origin, spec, Reason::InvalidAnnotation)
}

fn by_itself(wishes: &Wishes, settings: &Settings) -> Result<Choice, Refusal> {
    let mut spec = ProxyUnwrapSpec::default();
    overlay::fields(wishes, &mut spec, settings);
    let ports = wishes.ports.as_deref();
    spec.ports = ports.map(|wished| overlay::ports(wished, None));
    checked(Origin::Pod, spec, Reason::InvalidAnnotation)
}

fn checked(origin: Origin, spec: ProxyUnwrapSpec, reason: Reason) -> Result<Choice, Refusal> {
    match mistakes::first(&spec) {
        None => Ok(Choice { origin, spec }),
        Some(mistake) => Err(Refusal::new(reason, format!("{origin}: {mistake}"))),
    }
}

/// Whether somebody wants a pod unwrapped, well-formed or not.
fn is_meant(pod: &Pod, namespace: &str, world: &World) -> bool {
    let unwraps = world.unwraps.get(namespace).into_iter().flatten();
    let services = world.services.get(namespace).into_iter().flatten();
    ["inject", "unwrap", "ports"]
        .iter()
        .any(|key| said(pod, key).is_some())
        || unwraps.into_iter().any(|unwrap| means(unwrap, pod, world))
        || services
            .into_iter()
            .any(|service| service::is_annotated(service) && service::selects(service, pod))
}

/// The oldest wins, and of the same age the first by name.
fn oldest<'a, T: Resource>(all: impl Iterator<Item = &'a std::sync::Arc<T>>) -> Option<&'a T> {
    let age = |one: &&T| -> (bool, Option<Time>, Option<String>) {
        let meta = one.meta();
        let made = meta.creation_timestamp.clone();
        (made.is_none(), made, meta.name.clone())
    };
    all.map(AsRef::as_ref).min_by_key(age)
}

fn says_no(pod: &Pod) -> bool {
    said(pod, "inject").is_some_and(|said| said.eq_ignore_ascii_case("false"))
}

fn said<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    let mut wishes = annotations::ours(pod.annotations());
    wishes
        .find(|(one, _)| *one == key)
        .map(|(_, text)| text.trim())
}

fn not_found(name: &str, namespace: &str) -> Selection {
    let message = format!(
        "ProxyUnwrap {name}, which annotation {GROUP}/unwrap names, does not exist in namespace {namespace}; create it or correct the name"
    );
    refused(Reason::PolicyNotFound, message)
}

fn refused(reason: Reason, message: String) -> Selection {
    Selection::Refused(Refusal::new(reason, message))
}
