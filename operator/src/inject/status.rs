//! The annotation `proxyunwrap.dev/status`: what was injected into a pod.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::names::answers;
use serde::{Deserialize, Serialize};

use super::{InjectedPort, Injection, hash};
use crate::policy::{Origin, Policy};

/// What was injected into a pod. Fields of a later operator are not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The operator's version.
    pub version: String,
    /// Who said so, as in `ProxyUnwrap/web`.
    pub policy: String,
    /// Hash of the injection.
    pub hash: String,
    /// The pod's unwrapped ports, as long as it lives.
    pub ports: Vec<InjectedPort>,
}

impl Status {
    /// That of a pod that is injected now.
    pub(super) fn new(policy: &Policy, injection: &Injection) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: said_by(&policy.origin),
            hash: hash(injection),
            ports: injection.ports.clone(),
        }
    }

    /// That of a pod, if it has one that can be read.
    pub fn of(pod: &Pod) -> Option<Self> {
        let text = pod.annotations().get(answers::STATUS)?;
        serde_json::from_str(text).ok()
    }
}

fn said_by(origin: &Origin) -> String {
    match origin {
        Origin::Resource(name) => format!("ProxyUnwrap/{name}"),
        Origin::Service(name) => format!("Service/{name}"),
        Origin::Pod => "Pod".to_owned(),
    }
}
