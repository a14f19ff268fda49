//! What the cluster holds just now, as far as we care: plain data that tests can write down.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use kube::ResourceExt;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::target::TargetKind;

/// Everything that decides. Pods are trimmed: of their spec there are node, host network, system,
/// and names, images and ports of containers.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// By name.
    pub namespaces: BTreeMap<String, Arc<Namespace>>,
    /// By namespace.
    pub unwraps: BTreeMap<String, Vec<Arc<ProxyUnwrap>>>,
    /// By namespace.
    pub services: BTreeMap<String, Vec<Arc<Service>>>,
    /// By namespace.
    pub pods: BTreeMap<String, Vec<Arc<Pod>>>,
    /// All.
    pub nodes: Vec<Arc<Node>>,
    /// Deployments, StatefulSets and DaemonSets, by namespace.
    pub workloads: BTreeMap<String, Vec<Workload>>,
}

/// A workload, as far as we care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its kind; never Service.
    pub kind: TargetKind,
    /// Its name.
    pub name: String,
    /// Its uid, for Events.
    pub uid: String,
}

impl World {
    /// A namespace's labels; none for a namespace that isn't known.
    pub fn namespace_labels(&self, name: &str) -> BTreeMap<String, String> {
        let namespace = self.namespaces.get(name);
        namespace
            .map(|one| one.labels().clone())
            .unwrap_or_default()
    }
}
