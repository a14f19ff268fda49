//! Leaves away what decides nothing: most of a cluster's memory is in such fields.
//!
//! What is left is also what is compared: a change of anything else is no change. So
//! `resourceVersion` goes, too, and nobody may rely on it.

use k8s_openapi::api::core::v1::{
    Container, Namespace, Node, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, Service,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// kubectl's copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// For every kind.
pub(super) fn metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    metadata.resource_version = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

pub(super) fn pod(pod: &mut Pod) {
    metadata(&mut pod.metadata);
    pod.spec = pod.spec.take().map(pod_spec);
    pod.status = pod.status.take().map(|status| PodStatus {
        phase: status.phase,
        reason: status.reason,
        pod_ip: status.pod_ip,
        pod_ips: status.pod_ips,
        conditions: status.conditions,
        ..PodStatus::default()
    });
}

pub(super) fn node(node: &mut Node) {
    metadata(&mut node.metadata);
    node.spec = node.spec.take().map(|spec| NodeSpec {
        pod_cidr: spec.pod_cidr,
        pod_cidrs: spec.pod_cidrs,
        ..NodeSpec::default()
    });
    node.status = node.status.take().map(|status| NodeStatus {
        addresses: status.addresses,
        ..NodeStatus::default()
    });
}

pub(super) fn namespace(namespace: &mut Namespace) {
    metadata(&mut namespace.metadata);
    namespace.spec = None;
    namespace.status = None;
}

pub(super) fn service(service: &mut Service) {
    metadata(&mut service.metadata);
    service.status = None;
}

fn pod_spec(spec: PodSpec) -> PodSpec {
    let containers = |all: Vec<Container>| all.into_iter().map(container).collect();
    PodSpec {
        containers: containers(spec.containers),
        init_containers: spec.init_containers.map(containers),
        node_name: spec.node_name,
        node_selector: spec.node_selector,
        host_network: spec.host_network,
        os: spec.os,
        ..PodSpec::default()
    }
}

fn container(container: Container) -> Container {
    Container {
        name: container.name,
        image: container.image,
        ports: container.ports,
        restart_policy: container.restart_policy,
        ..Container::default()
    }
}
