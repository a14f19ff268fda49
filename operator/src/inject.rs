//! (pod, policy, settings) to the pod with init container and sidecar, or a refusal. No I/O.
//!
//! [`plan`] decides from what the watches keep of a pod, so webhook and controller come to the same
//! answer. [`patch`] carries a plan out on the pod as it came over the wire, field by field: what a
//! later Kubernetes adds to pods survives. Both ignore what is ours in the pod, so a patched pod has
//! the same plan and an empty patch. Nothing else of a pod is touched but probes and hooks that aim
//! at an unwrapped port.

mod config;
mod containers;
mod edit;
mod init_container;
mod metadata;
mod ports;
mod probes;
mod quantity;
mod refuse;
mod resources;
mod seen;
mod sidecar;
mod status;
mod volume;

use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use proxyunwrap_api::ports::App;
use proxyunwrap_api::spec::{LogLevel, PullPolicy, SourceMode, Steering};
use proxyunwrap_api::values::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::refuse::{namespace_allows, pod_security_level};
pub use self::seen::seen;
pub use self::status::Status;

use self::edit::Edit;
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// What goes into a pod and stays as long as it lives; a pod with another hash is outdated. What
/// can change while it runs (peers, header, time-outs, limits …) is not here but in the
/// configuration.
///
/// Its text is hashed: a new field must be left out of it at its default, or an upgrade makes every
/// pod outdated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Injection {
    /// Ports, in order.
    pub ports: Vec<InjectedPort>,
    /// Image of init container and sidecar.
    pub image: String,
    /// When to pull it.
    pub image_pull_policy: Option<PullPolicy>,
    /// The sidecar's, before the pod's class of service is looked at.
    pub resources: ResourceRequirements,
    /// The init container's, likewise.
    pub init_resources: ResourceRequirements,
    /// How connections reach the sidecar.
    pub steering: Steering,
    /// How the client's address becomes the sidecar's source.
    pub source_mode: SourceMode,
    /// Messages on standard error.
    pub log_level: LogLevel,
    /// Threads: read at start only.
    pub workers: Option<u16>,
    /// How long the preStop hook waits.
    pub drain_wait: Span,
    /// Where rewritten probes find the app, in the order of ports; empty if none is rewritten.
    pub probed: Vec<Option<App>>,
}

/// An unwrapped port of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InjectedPort {
    /// Its name in the configuration: the name that the policy gives, else the number.
    pub name: String,
    /// What peers dial.
    pub port: u16,
    /// Where the sidecar takes its connections.
    pub listen: u16,
}

/// What is injected into a pod. The pod may be trimmed as in [`crate::world::World`]. Whether the
/// namespace admits it is another question: [`namespace_allows`].
///
/// # Errors
/// Why that cannot be done.
pub fn plan(pod: &Pod, policy: &Policy, settings: &Settings) -> Result<Injection, Refusal> {
    refuse::kind_of_pod(pod)?;
    refuse::strangers(pod)?;
    refuse::meshes(pod)?;
    let ports = ports::injected(pod, policy)?;
    refuse::linkerd(pod, &ports)?;
    config::fits(&ports, policy)?;
    let wanted = &policy.spec.dataplane;
    let set = &settings.dataplane;
    let probed = match wanted.rewrite_probes {
        true => ports.iter().map(|port| app(policy, port)).collect(),
        false => Vec::new(),
    };
    Ok(Injection {
        ports,
        image: wanted.image.clone().unwrap_or_else(|| set.image.clone()),
        image_pull_policy: wanted.image_pull_policy.or(set.image_pull_policy),
        resources: resources::wanted([&wanted.resources, &set.resources]),
        init_resources: resources::wanted([&set.init_resources, &None]),
        steering: policy.spec.steering,
        source_mode: policy.spec.source_mode,
        log_level: wanted.log_level,
        workers: wanted.workers,
        drain_wait: policy.spec.drain.wait,
        probed,
    })
}

/// Where the policy says that the app listens, if it isn't at the port itself.
fn app(policy: &Policy, port: &InjectedPort) -> Option<App> {
    let (_, said) = ports::said(policy, port)?;
    said.app.clone()
}

/// Hash of an injection, 16 letters; in the annotation `proxyunwrap.dev/status`.
pub fn hash(injection: &Injection) -> String {
    let text = serde_json::to_vec(injection).expect("an injection has string keys only");
    let digest = Sha256::digest(text);
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The dataplane's configuration file, in the annotation `proxyunwrap.dev/config`. The same input
/// gives the same text.
pub fn config(injection: &Injection, policy: &Policy) -> String {
    config_for(&injection.ports, policy)
}

/// The same for the ports that a running pod has, whatever ports its policy names by now: those that
/// it does not name any more go on by what is said for all.
pub fn config_for(ports: &[InjectedPort], policy: &Policy) -> String {
    config::text(ports, policy)
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
    let seen = seen(pod)?;
    let injection = plan(&seen, policy, settings)?;
    let status = Status::new(policy, &injection);
    let before = match Status::of(&seen) {
        None => Before::Untouched,
        Some(earlier) if earlier.hash == status.hash => Before::Current,
        Some(_) => Before::Outdated,
    };
    let mut edit = Edit::new(pod);
    let probes = probes::rewrite(&mut edit, &injection)?;
    volume::put(&mut edit, before)?;
    containers::put(&mut edit, &injection, before, &probes)?;
    metadata::put(&mut edit, &status, &config(&injection, policy))?;
    Ok(edit.finish())
}

/// The change that sets one annotation, and nothing else; none if a pod has it, or can have none.
pub fn mark(pod: &Value, annotation: &str, text: &str) -> json_patch::Patch {
    let mut edit = Edit::new(pod);
    match metadata::annotate(&mut edit, annotation, text) {
        Ok(()) => edit.finish(),
        Err(_) => json_patch::Patch(Vec::new()),
    }
}

/// What a pod had of us when it came: it may have been here before, or be a copy of another pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing.
    Untouched,
    /// What it would get now.
    Current,
    /// Something else.
    Outdated,
}

#[cfg(test)]
mod tests;
