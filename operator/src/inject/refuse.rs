//! Pods that must be left alone, and why.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use proxyunwrap_api::names::{INIT_CONTAINER, SIDECAR};

use super::{InjectedPort, Status};
use crate::refusal::{Reason, Refusal};
use crate::settings::{PodSecurityLevel, Settings};

/// Annotations of a pod that the kubelet made from a file, and of its mirror in the API.
const STATIC: [&str; 2] = ["kubernetes.io/config.mirror", "kubernetes.io/config.source"];

/// What a namespace enforces.
const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// Ports that Linkerd's proxy leaves alone.
const LINKERD_SKIPS: &str = "config.linkerd.io/skip-inbound-ports";

/// Whether a pod or a namespace is of Istio's ambient mode.
const ISTIO_MODE: &str = "istio.io/dataplane-mode";

/// Pods that nothing may be added to, or whose network is not their own.
pub(super) fn kind_of_pod(pod: &Pod) -> Result<(), Refusal> {
    let spec = pod.spec.as_ref();
    let of_node = pod
        .owner_references()
        .iter()
        .any(|owner| owner.kind == "Node");
    let annotated = STATIC
        .iter()
        .any(|key| pod.annotations().contains_key(*key));
    if of_node || annotated {
        return Err(Refusal::new(
            Reason::StaticPod,
            "the kubelet made the pod from a file of its node, and takes nothing from the API; \
             add the containers to that file",
        ));
    }
    if spec.is_some_and(|spec| spec.host_network == Some(true)) {
        return Err(Refusal::new(
            Reason::HostNetwork,
            "the pod uses its node's network, whose rules must not be changed for one pod; remove \
             hostNetwork",
        ));
    }
    let named = spec
        .and_then(|spec| spec.os.as_ref())
        .map(|os| os.name.as_str());
    let selected = spec.and_then(|spec| spec.node_selector.as_ref());
    let selected = selected.and_then(|labels| labels.get("kubernetes.io/os"));
    let selected = selected.map(String::as_str);
    let system = named.or(selected).unwrap_or("linux");
    match system {
        "linux" => Ok(()),
        other => Err(Refusal::new(
            Reason::UnsupportedOs,
            format!("the pod runs on {other}, and ProxyUnwrap on linux alone"),
        )),
    }
}

/// Containers of our names that are not ours: made by hand, or a copy without its annotations.
pub(super) fn strangers(pod: &Pod) -> Result<(), Refusal> {
    let Some(spec) = &pod.spec else {
        return Ok(());
    };
    let named = |one: &&Container| [SIDECAR, INIT_CONTAINER].contains(&one.name.as_str());
    let before = spec.init_containers.iter().flatten();
    let stranger = match Status::of(pod) {
        Some(_) => spec.containers.iter().find(named),
        None => spec.containers.iter().chain(before).find(named),
    };
    match stranger {
        None => Ok(()),
        Some(container) => Err(Refusal::new(
            Reason::AlreadyInjected,
            format!(
                "the pod has a container of its own by the name of {}; remove or rename it",
                container.name
            ),
        )),
    }
}

/// Other meshes that are in the pod and take its connections before us.
///
/// What counts is the sidecar that is there: the webhooks of Istio and Linkerd are asked before ours,
/// by their names. Packets have the sidecar's own port already when they meet a mesh's rules.
pub(super) fn meshes(pod: &Pod, ports: &[InjectedPort]) -> Result<(), Refusal> {
    if has(pod, "istio-proxy") || pod.annotations().contains_key("sidecar.istio.io/status") {
        return Err(Refusal::new(
            Reason::OtherMeshCapturesPort,
            "istio's sidecar takes every inbound connection, and ports 15001 and 15090 that the \
             sidecar needs; label the pod sidecar.istio.io/inject: \"false\"",
        ));
    }
    if pod
        .labels()
        .get(ISTIO_MODE)
        .is_some_and(|mode| mode == "ambient")
    {
        return Err(ambient("pod"));
    }
    if has(pod, "kuma-sidecar") {
        return Err(Refusal::new(
            Reason::OtherMeshCapturesPort,
            "kuma's sidecar takes every inbound connection, and port 15001 that the sidecar needs; \
             label the pod kuma.io/sidecar-injection: disabled",
        ));
    }
    match has(pod, "linkerd-proxy") {
        true => linkerd(pod, ports),
        false => Ok(()),
    }
}

/// Whether a namespace admits what is injected: its Pod Security level, and meshes without sidecars.
///
/// # Errors
/// Why it does not.
pub fn namespace_allows(
    pod: &Pod,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    settings: &Settings,
) -> Result<(), Refusal> {
    let level = match pod_security_level(labels, settings) {
        PodSecurityLevel::Privileged => None,
        PodSecurityLevel::Baseline => Some("baseline"),
        PodSecurityLevel::Restricted => Some("restricted"),
    };
    if let Some(level) = level {
        return Err(Refusal::new(
            Reason::PodSecurityLevel,
            format!(
                "namespace {namespace} enforces the Pod Security level {level}, which refuses the \
                 NET_ADMIN of {INIT_CONTAINER}; label the namespace {ENFORCED}=privileged, or run \
                 the pod in another"
            ),
        ));
    }
    let is_ambient = labels.get(ISTIO_MODE).is_some_and(|mode| mode == "ambient");
    match is_ambient
        && pod
            .labels()
            .get(ISTIO_MODE)
            .is_none_or(|mode| mode != "none")
    {
        true => Err(ambient("namespace")),
        false => Ok(()),
    }
}

/// The level that a namespace enforces. One that is misspelt is taken for the strictest, as the API
/// server does.
pub fn pod_security_level(
    labels: &BTreeMap<String, String>,
    settings: &Settings,
) -> PodSecurityLevel {
    match labels.get(ENFORCED).map(String::as_str) {
        None => settings.namespaces.pod_security_default,
        Some("privileged") => PodSecurityLevel::Privileged,
        Some("baseline") => PodSecurityLevel::Baseline,
        Some(_) => PodSecurityLevel::Restricted,
    }
}

/// Whether a container or an init container has this name.
fn has(pod: &Pod, name: &str) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let before = spec.init_containers.iter().flatten();
    spec.containers
        .iter()
        .chain(before)
        .any(|one| one.name == name)
}

fn ambient(whose: &str) -> Refusal {
    let message = format!(
        "the {whose}'s label {ISTIO_MODE}: ambient lets istio's ztunnel take every inbound \
         connection; label the pod {ISTIO_MODE}: none"
    );
    Refusal::new(Reason::OtherMeshCapturesPort, message)
}

fn linkerd(pod: &Pod, ports: &[InjectedPort]) -> Result<(), Refusal> {
    let skipped = pod.annotations().get(LINKERD_SKIPS).map(String::as_str);
    let missing = |port: &&InjectedPort| !covers(skipped.unwrap_or_default(), port.listen);
    let missing: Vec<String> = ports
        .iter()
        .filter(missing)
        .map(|port| port.listen.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let wanted = skipped.map(str::to_owned).into_iter().chain(missing);
    let wanted = wanted.collect::<Vec<_>>().join(",");
    Err(Refusal::new(
        Reason::OtherMeshCapturesPort,
        format!(
            "linkerd's proxy takes the connections that are steered to the sidecar; annotate the \
             pod {LINKERD_SKIPS}: {wanted:?}"
        ),
    ))
}

/// Whether a list such as `25,4000-4100` holds a port.
fn covers(list: &str, port: u16) -> bool {
    list.split(',').any(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        match (from.trim().parse::<u16>(), to.trim().parse::<u16>()) {
            (Ok(from), Ok(to)) => (from..=to).contains(&port),
            _ => false,
        }
    })
}
