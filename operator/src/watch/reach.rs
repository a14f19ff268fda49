//! Which namespaces a change reaches beside its own: those whose resources name its object as a peer.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use proxyunwrap_api::peers::PeerPods;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapSpec};

use super::Changes;
use crate::world::World;

/// Where a change of a pod is seen.
pub(super) fn of_pod(world: &World, before: Option<&Pod>, after: Option<&Pod>) -> Changes {
    let Some(pod) = after.or(before) else {
        return Changes::default();
    };
    let mut changes = Changes::of(&pod.namespace().unwrap_or_default());
    if before.map(as_peer) == after.map(as_peer) {
        return changes;
    }
    for (namespace, unwraps) in &world.unwraps {
        let named = |pod: &Pod| unwraps.iter().any(|unwrap| names(unwrap, pod, world));
        if before.is_some_and(named) || after.is_some_and(named) {
            changes.namespaces.insert(namespace.clone());
        }
    }
    changes
}

/// Where a change of a namespace's labels is seen: everywhere if any resource looks at labels.
pub(super) fn of_namespace(
    world: &World,
    before: Option<&Namespace>,
    after: Option<&Namespace>,
) -> Changes {
    let Some(namespace) = after.or(before) else {
        return Changes::default();
    };
    let mut changes = Changes::of(&namespace.name_any());
    if before.map(ResourceExt::labels) != after.map(ResourceExt::labels) {
        let mut unwraps = world.unwraps.values().flatten();
        changes.everything =
            unwraps.any(|unwrap| peers(&unwrap.spec).any(|pods| pods.namespace_selector.is_some()));
    }
    changes
}

/// What makes a pod a peer or not, and which.
fn as_peer(pod: &Pod) -> impl PartialEq {
    let status = pod.status.as_ref();
    let ended = status.and_then(|status| status.phase.as_deref());
    let ended = matches!(ended, Some("Succeeded" | "Failed"));
    let addresses = status.and_then(|status| status.pod_ips.clone());
    (pod.labels().clone(), addresses, ended)
}

/// Whether a resource names a pod as a peer; a selector that nobody can read names everybody.
fn names(unwrap: &ProxyUnwrap, pod: &Pod, world: &World) -> bool {
    let namespace = pod.namespace().unwrap_or_default();
    let home = unwrap.namespace().unwrap_or_default();
    peers(&unwrap.spec).any(|pods| {
        within(pods, &home, &namespace, world)
            && Selector::try_from(pods.selector.clone())
                .map_or(true, |selector| selector.matches(pod.labels()))
    })
}

fn within(pods: &PeerPods, home: &str, namespace: &str, world: &World) -> bool {
    match (&pods.namespaces, &pods.namespace_selector) {
        (Some(names), _) => names.iter().any(|name| name == namespace),
        (None, Some(selector)) => Selector::try_from(selector.clone()).map_or(true, |selector| {
            selector.matches(&world.namespace_labels(namespace))
        }),
        (None, None) => home == namespace,
    }
}

/// Every reference to pods, of the resource and of its ports.
fn peers(spec: &ProxyUnwrapSpec) -> impl Iterator<Item = &PeerPods> {
    let ports = spec.ports.iter().flatten();
    let lists = ports.filter_map(|port| port.trusted_peers.as_ref());
    let lists = spec.trusted_peers.iter().chain(lists);
    lists.flatten().filter_map(|peer| peer.pods.as_ref())
}
