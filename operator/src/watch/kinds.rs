//! The kinds that are watched, and where each has its place in the world.

use std::fmt::Debug;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::{Resource, ResourceExt};
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::target::TargetKind;
use serde::de::DeserializeOwned;

use super::held::{self, Held};
use super::{Changes, Unreadable, place, reach, trim};
use crate::metrics::Watched;
use crate::world::{Workload, World};

/// A kind that is watched. Cluster-wide objects have the namespace "".
pub(super) trait Kept: 'static {
    /// As it comes over the wire.
    type Wire: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static;
    /// Its name in metrics.
    const WATCHED: Watched;
    /// Puts an object in its place, and says where that is seen: nowhere if it was there already.
    fn put(held: &mut Held, object: Self::Wire) -> Changes;
    /// Takes an object away.
    fn remove(held: &mut Held, namespace: &str, name: &str) -> Changes;
    /// Namespace and name of all.
    fn names(held: &Held) -> Vec<(String, String)>;
}

impl Kept for Pod {
    type Wire = Self;
    const WATCHED: Watched = Watched::Pods;

    fn put(held: &mut Held, mut pod: Self) -> Changes {
        trim::pod(&mut pod);
        let (namespace, name) = place(&pod);
        let before = held::find(&held.world.pods, &namespace, &name);
        if before.is_some_and(|before| **before == pod) {
            return Changes::default();
        }
        let changes = reach::of_pod(&held.world, before.map(|pod| &**pod), Some(&pod));
        held::put(&mut held.world().pods, &namespace, pod);
        changes
    }

    fn remove(held: &mut Held, namespace: &str, name: &str) -> Changes {
        let before = held::find(&held.world.pods, namespace, name);
        let changes = reach::of_pod(&held.world, before.map(|pod| &**pod), None);
        held::remove(&mut held.world().pods, namespace, name);
        changes
    }

    fn names(held: &Held) -> Vec<(String, String)> {
        held::names(&held.world.pods)
    }
}

impl Kept for Service {
    type Wire = Self;
    const WATCHED: Watched = Watched::Services;

    fn put(held: &mut Held, mut service: Self) -> Changes {
        trim::service(&mut service);
        let (namespace, name) = place(&service);
        let before = held::find(&held.world.services, &namespace, &name);
        if before.is_some_and(|before| **before == service) {
            return Changes::default();
        }
        held::put(&mut held.world().services, &namespace, service);
        Changes::of(&namespace)
    }

    fn remove(held: &mut Held, namespace: &str, name: &str) -> Changes {
        held::remove(&mut held.world().services, namespace, name);
        Changes::of(namespace)
    }

    fn names(held: &Held) -> Vec<(String, String)> {
        held::names(&held.world.services)
    }
}

/// One that cannot be read must not stop the watch: it is listed apart, for its status.
impl Kept for ProxyUnwrap {
    type Wire = DeserializeGuard<Self>;
    const WATCHED: Watched = Watched::ProxyUnwraps;

    fn put(held: &mut Held, object: DeserializeGuard<Self>) -> Changes {
        let (namespace, name) = place(&object);
        let place = (namespace.clone(), name.clone());
        let mut unwrap = match object.0 {
            Ok(unwrap) => unwrap,
            Err(bad) => {
                let unreadable = Unreadable {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    uid: bad.metadata.uid.unwrap_or_default(),
                    generation: bad.metadata.generation,
                    error: bad.error,
                };
                if held.unreadable.get(&place) == Some(&unreadable) {
                    return Changes::default();
                }
                held::remove(&mut held.world().unwraps, &namespace, &name);
                held.unreadable.insert(place, unreadable);
                return Changes::of(&namespace);
            }
        };
        trim::metadata(&mut unwrap.metadata);
        held.unreadable.remove(&place);
        let before = held::find(&held.world.unwraps, &namespace, &name);
        if before.is_some_and(|before| **before == unwrap) {
            return Changes::default();
        }
        held::put(&mut held.world().unwraps, &namespace, unwrap);
        Changes::of(&namespace)
    }

    fn remove(held: &mut Held, namespace: &str, name: &str) -> Changes {
        let place = (namespace.to_owned(), name.to_owned());
        held.unreadable.remove(&place);
        held::remove(&mut held.world().unwraps, namespace, name);
        Changes::of(namespace)
    }

    fn names(held: &Held) -> Vec<(String, String)> {
        let mut names = held::names(&held.world.unwraps);
        names.extend(held.unreadable.keys().cloned());
        names
    }
}

impl Kept for Namespace {
    type Wire = Self;
    const WATCHED: Watched = Watched::Namespaces;

    fn put(held: &mut Held, mut namespace: Self) -> Changes {
        trim::namespace(&mut namespace);
        let name = namespace.name_any();
        let before = held.world.namespaces.get(&name);
        if before.is_some_and(|before| **before == namespace) {
            return Changes::default();
        }
        let changes = reach::of_namespace(&held.world, before.map(|one| &**one), Some(&namespace));
        held.world().namespaces.insert(name, namespace.into());
        changes
    }

    fn remove(held: &mut Held, _: &str, name: &str) -> Changes {
        let before = held.world.namespaces.get(name);
        let changes = reach::of_namespace(&held.world, before.map(|one| &**one), None);
        held.world().namespaces.remove(name);
        changes
    }

    fn names(held: &Held) -> Vec<(String, String)> {
        let names = held.world.namespaces.keys();
        names.map(|name| (String::new(), name.clone())).collect()
    }
}

/// Any namespace may name nodes as peers.
impl Kept for Node {
    type Wire = Self;
    const WATCHED: Watched = Watched::Nodes;

    fn put(held: &mut Held, mut node: Self) -> Changes {
        trim::node(&mut node);
        let before = position(&held.world, &node.name_any());
        if let Ok(index) = before
            && *held.world.nodes[index] == node
        {
            return Changes::default();
        }
        let nodes = &mut held.world().nodes;
        match before {
            Ok(index) => nodes[index] = node.into(),
            Err(index) => nodes.insert(index, node.into()),
        }
        everything()
    }

    fn remove(held: &mut Held, _: &str, name: &str) -> Changes {
        if let Ok(index) = position(&held.world, name) {
            held.world().nodes.remove(index);
        }
        everything()
    }

    fn names(held: &Held) -> Vec<(String, String)> {
        let nodes = held.world.nodes.iter();
        nodes.map(|node| (String::new(), node.name_any())).collect()
    }
}

fn position(world: &World, name: &str) -> Result<usize, usize> {
    world
        .nodes
        .binary_search_by(|node| node.name_any().as_str().cmp(name))
}

fn everything() -> Changes {
    Changes {
        everything: true,
        ..Changes::default()
    }
}

/// Three kinds of workloads, of which metadata is enough.
macro_rules! workloads {
    ($name:ident, $kind:ident, $watched:ident) => {
        pub(super) struct $name;

        impl Kept for $name {
            type Wire = PartialObjectMeta<$kind>;
            const WATCHED: Watched = Watched::$watched;

            fn put(held: &mut Held, object: Self::Wire) -> Changes {
                let namespace = object.namespace().unwrap_or_default();
                let workload = Workload {
                    kind: TargetKind::$kind,
                    name: object.name_any(),
                    uid: object.uid().unwrap_or_default(),
                };
                put_workload(held, &namespace, workload)
            }

            fn remove(held: &mut Held, namespace: &str, name: &str) -> Changes {
                remove_workload(held, namespace, TargetKind::$kind, name)
            }

            fn names(held: &Held) -> Vec<(String, String)> {
                workload_names(held, TargetKind::$kind)
            }
        }
    };
}

workloads!(Deployments, Deployment, Deployments);
workloads!(StatefulSets, StatefulSet, StatefulSets);
workloads!(DaemonSets, DaemonSet, DaemonSets);

fn put_workload(held: &mut Held, namespace: &str, workload: Workload) -> Changes {
    let all = held.world.workloads.get(namespace);
    if all.is_some_and(|all| all.contains(&workload)) {
        return Changes::default();
    }
    let all = held
        .world()
        .workloads
        .entry(namespace.to_owned())
        .or_default();
    all.retain(|other| (other.kind, &other.name) != (workload.kind, &workload.name));
    all.push(workload);
    Changes::of(namespace)
}

fn remove_workload(held: &mut Held, namespace: &str, kind: TargetKind, name: &str) -> Changes {
    let workloads = &mut held.world().workloads;
    if let Some(all) = workloads.get_mut(namespace) {
        all.retain(|other| (other.kind, other.name.as_str()) != (kind, name));
        if all.is_empty() {
            workloads.remove(namespace);
        }
    }
    Changes::of(namespace)
}

fn workload_names(held: &Held, kind: TargetKind) -> Vec<(String, String)> {
    let all = held.world.workloads.iter();
    let all = all.flat_map(|(namespace, all)| all.iter().map(move |one| (namespace, one)));
    all.filter(|(_, one)| one.kind == kind)
        .map(|(namespace, one)| (namespace.clone(), one.name.clone()))
        .collect()
}
