//! Which workload made a pod: what is restarted, and what a person is told to restart.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use proxyunwrap_api::target::TargetKind;

use crate::world::{Workload, World};

/// Label by which a Deployment tells its ReplicaSets apart.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// The Deployment, StatefulSet or DaemonSet that made a pod; none for pods of Jobs, of other
/// controllers, and for those that a person made.
pub fn of<'a>(pod: &Pod, namespace: &str, world: &'a World) -> Option<&'a Workload> {
    let owners = pod.owner_references().iter();
    let owner = owners
        .into_iter()
        .find(|one| one.controller == Some(true))?;
    let (kind, name) = made_by(owner, pod)?;
    let workloads = world.workloads.get(namespace)?;
    let mut same = workloads.iter();
    same.find(|one| one.kind == kind && one.name == name)
}

fn made_by<'a>(owner: &'a OwnerReference, pod: &Pod) -> Option<(TargetKind, &'a str)> {
    match owner.kind.as_str() {
        "StatefulSet" => Some((TargetKind::StatefulSet, &owner.name)),
        "DaemonSet" => Some((TargetKind::DaemonSet, &owner.name)),
        "ReplicaSet" => {
            let hash = pod.labels().get(TEMPLATE_HASH)?;
            let deployment = owner.name.strip_suffix(hash)?.strip_suffix('-')?;
            Some((TargetKind::Deployment, deployment))
        }
        _ => None,
    }
}

/// A kind as the API has it.
pub fn kind(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Service => "Service",
        TargetKind::Deployment => "Deployment",
        TargetKind::StatefulSet => "StatefulSet",
        TargetKind::DaemonSet => "DaemonSet",
    }
}

/// As `kubectl` takes it: `deployment/web`.
pub fn written(workload: &Workload) -> String {
    format!("{}/{}", kind(workload.kind).to_lowercase(), workload.name)
}
