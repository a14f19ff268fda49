//! (pod, policy, settings) to the pod with init container and sidecar, or a refusal. No I/O.

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::Value;

use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// What goes into a pod and stays as long as it lives; a pod with another hash is outdated. What
/// can change while it runs (peers, header, time-outs, limits …) is not here but in the
/// configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Injection {
    /// Ports, in order.
    pub ports: Vec<InjectedPort>,
    // image, pull policy, resources, steering, source mode, log level, workers, drain …
}

/// An unwrapped port of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InjectedPort {
    /// Its name in the configuration.
    pub name: String,
    /// What peers dial.
    pub port: u16,
    /// Where the sidecar takes its connections.
    pub listen: u16,
}

/// What is injected into a pod. The pod may be trimmed as in [`crate::world::World`].
///
/// # Errors
/// Why that cannot be done.
pub fn plan(pod: &Pod, policy: &Policy, settings: &Settings) -> Result<Injection, Refusal> {
    let _ = (pod, policy, settings);
    Ok(Injection { ports: Vec::new() })
}

/// Hash of an injection, 16 letters; in the annotation `proxyunwrap.dev/status`.
pub fn hash(injection: &Injection) -> String {
    let _ = injection;
    String::new()
}

/// The dataplane's configuration file, in the annotation `proxyunwrap.dev/config`. The same input
/// gives the same text.
pub fn config(injection: &Injection, policy: &Policy) -> String {
    let _ = (injection, policy);
    String::new()
}

/// The changes of a pod as it came over the wire; none for a pod that has them already.
///
/// # Errors
/// Why that cannot be done.
pub fn patch(
    pod: &Value,
    policy: &Policy,
    settings: &Settings,
) -> Result<json_patch::Patch, Refusal> {
    let _ = (pod, policy, settings);
    Ok(json_patch::Patch(Vec::new()))
}
