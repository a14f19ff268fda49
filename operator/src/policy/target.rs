//! Targets of a resource: what they are about, by name.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use proxyunwrap_api::target::{TargetKind, TargetRef};

use super::service;
use crate::world::World;

/// Label of a ReplicaSet's pods; the last part of the ReplicaSet's name.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Whether a pod belongs to a target. Pods that are being made have owners, but no name yet.
pub(super) fn is_about(target: &TargetRef, namespace: &str, pod: &Pod, world: &World) -> bool {
    let name = target.name.as_str();
    match target.kind {
        TargetKind::Service => {
            service(target, namespace, world).is_some_and(|service| service::selects(service, pod))
        }
        TargetKind::Deployment => {
            // The ReplicaSet is not asked: its name says whose it is, and is there before our caches are.
            let hash = pod.labels().get(TEMPLATE_HASH);
            hash.is_some_and(|hash| owned(pod, "ReplicaSet", &format!("{name}-{hash}")))
        }
        TargetKind::StatefulSet => owned(pod, "StatefulSet", name),
        TargetKind::DaemonSet => owned(pod, "DaemonSet", name),
    }
}

/// The Service that a target names.
pub(super) fn service<'a>(
    target: &TargetRef,
    namespace: &str,
    world: &'a World,
) -> Option<&'a Service> {
    if target.kind != TargetKind::Service {
        return None;
    }
    let mut services = world.services.get(namespace).into_iter().flatten();
    let service = services.find(|one| one.metadata.name.as_ref() == Some(&target.name))?;
    Some(service)
}

fn owned(pod: &Pod, kind: &str, name: &str) -> bool {
    let is = |owner: &OwnerReference| {
        let apps = owner.api_version.starts_with("apps/");
        apps && owner.kind == kind && owner.name == name && owner.controller == Some(true)
    };
    pod.owner_references().iter().any(is)
}
