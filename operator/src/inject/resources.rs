//! Requests and limits of our containers.
//!
//! Requests are always there: without one on every container a HorizontalPodAutoscaler has no
//! percentage to go by. A pod that is Guaranteed stays so, and a pod with resources of its own shares
//! them with us: requests of ours could exceed them, and the pod would be refused.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proxyunwrap_api::names::{INIT_CONTAINER, SIDECAR};
use serde_json::{Value, json};

use super::edit::{Edit, at};
use super::quantity;

/// The resources that make the class of service.
const CLASSED: [&str; 2] = ["cpu", "memory"];

/// Requested where nothing is said, in the order of [`CLASSED`].
const REQUESTS: [&str; 2] = ["10m", "16Mi"];

/// The limit of memory where nothing is said. There is none of CPU: it would only slow the app down.
const MEMORY_LIMIT: &str = "64Mi";

/// Least of a Guaranteed pod's sidecar where no limit is said, in the order of [`CLASSED`]. There a
/// request is the limit, and 10m would be a thousandth of a second in each tenth.
const GUARANTEED: [&str; 2] = ["100m", MEMORY_LIMIT];

/// Who says how much a pod may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Its containers, each for itself.
    Ordinary,
    /// Its containers, and each gets what it may use at most.
    Guaranteed,
    /// The pod as a whole.
    PodLevel,
}

/// The first that is said, with requests filled in.
pub(super) fn wanted(said: [&Option<ResourceRequirements>; 2]) -> ResourceRequirements {
    let said = said.into_iter().flatten().next().cloned();
    let mut wanted = said.unwrap_or_else(|| ResourceRequirements {
        limits: Some(BTreeMap::from([(
            "memory".to_owned(),
            quantity(MEMORY_LIMIT),
        )])),
        ..Default::default()
    });
    let limits = wanted.limits.clone().unwrap_or_default();
    let requests = wanted.requests.get_or_insert_default();
    for (name, least) in CLASSED.into_iter().zip(REQUESTS) {
        // A limit below our default is its own request, as Kubernetes has it.
        let limit = limits.get(name).map(|limit| limit.0.as_str());
        let default = limit.map_or(least, |limit| quantity::less(limit, least));
        let missing = || quantity(default);
        requests.entry(name.to_owned()).or_insert_with(missing);
    }
    wanted
}

/// A pod's class of service, without what is ours in it.
pub(super) fn class(edit: &Edit) -> Class {
    let of_pod = edit.get(&at(["spec", "resources"]));
    let said = |of_pod: &Value| {
        let mut kinds = ["requests", "limits"].iter();
        kinds.any(|kind| of_pod[*kind].as_object().is_some_and(|all| !all.is_empty()))
    };
    if of_pod.is_some_and(said) {
        return Class::PodLevel;
    }
    let lists = [at(["spec", "containers"]), at(["spec", "initContainers"])];
    let all = lists.iter().flat_map(|list| edit.items(list));
    let mut theirs = all.filter(|one| one["name"] != SIDECAR && one["name"] != INIT_CONTAINER);
    match theirs.all(|container| is_guaranteed(&container["resources"])) {
        true => Class::Guaranteed,
        false => Class::Ordinary,
    }
}

/// What a container of ours gets in a pod of this class.
pub(super) fn given(wanted: &ResourceRequirements, class: Class) -> Value {
    match class {
        Class::Ordinary => json!(wanted),
        Class::Guaranteed => json!(guaranteed(wanted)),
        Class::PodLevel => json!({}),
    }
}

fn guaranteed(wanted: &ResourceRequirements) -> ResourceRequirements {
    let mut given = wanted.clone();
    let limits = given.limits.get_or_insert_default();
    let requests = given.requests.get_or_insert_default();
    for (name, least) in CLASSED.into_iter().zip(GUARANTEED) {
        let requested = requests
            .get(name)
            .map_or(least, |request| request.0.as_str());
        let limit = || quantity(quantity::greater(requested, least));
        let limit = limits.entry(name.to_owned()).or_insert_with(limit);
        requests.insert(name.to_owned(), limit.clone());
    }
    given
}

/// A limit for both, and a request that is the same or left out.
fn is_guaranteed(resources: &Value) -> bool {
    CLASSED.iter().all(|name| {
        let limit = resources["limits"][name].as_str();
        let request = resources["requests"][name].as_str();
        let limit = limit.and_then(quantity::parse).filter(|limit| *limit > 0);
        limit.is_some() && request.is_none_or(|request| quantity::parse(request) == limit)
    })
}

fn quantity(text: &str) -> Quantity {
    Quantity(text.to_owned())
}
