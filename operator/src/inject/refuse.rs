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

/// What Istio's webhook leaves behind.
const ISTIO_STATUS: &str = "sidecar.istio.io/status";

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
             make it a DaemonSet",
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

/// Other meshes that are in the pod and take its connections before us, whatever is said to them.
///
/// What counts is the sidecar that is there: the webhooks of Istio, Kuma and Linkerd are asked before
/// ours, by their names.
pub(super) fn meshes(pod: &Pod) -> Result<(), Refusal> {
    let is_istio = has(pod, "istio-proxy") || pod.annotations().contains_key(ISTIO_STATUS);
    let (mesh, also, way_out) = match (is_istio, has(pod, "kuma-sidecar")) {
        (true, _) => (
            "istio",
            "ports 15001 and 15090",
            "sidecar.istio.io/inject: \"false\"",
        ),
        (_, true) => ("kuma", "port 15001", "kuma.io/sidecar-injection: disabled"),
        _ if is_ambient(pod.labels()) => return Err(ambient("pod")),
        _ => return Ok(()),
    };
    Err(Refusal::new(
        Reason::OtherMeshCapturesPort,
        format!(
            "{mesh}'s sidecar takes every inbound connection, and {also} that ProxyUnwrap needs; \
             label the pod {way_out}"
        ),
    ))
}

/// Linkerd's proxy can be told to leave ports alone. They are the sidecar's: packets have its port
/// already when they meet a mesh's rules.
pub(super) fn linkerd(pod: &Pod, ports: &[InjectedPort]) -> Result<(), Refusal> {
    let skipped = pod.annotations().get(LINKERD_SKIPS).map(String::as_str);
    let captured = |port: &&InjectedPort| !covers(skipped.unwrap_or_default(), port.listen);
    let captured = ports.iter().filter(captured);
    let captured: Vec<String> = captured.map(|port| port.listen.to_string()).collect();
    if captured.is_empty() || !has(pod, "linkerd-proxy") {
        return Ok(());
    }
    let all = skipped.map(str::to_owned).into_iter().chain(captured);
    let all = all.collect::<Vec<_>>().join(",");
    Err(Refusal::new(
        Reason::OtherMeshCapturesPort,
        format!(
            "linkerd's proxy takes the connections that are steered to the sidecar; annotate the \
             pod {LINKERD_SKIPS}: {all:?}"
        ),
    ))
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
                 NET_ADMIN of {INIT_CONTAINER}; kubectl label namespace {namespace} \
                 {ENFORCED}=privileged --overwrite, or run the pod in another"
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

fn is_ambient(labels: &BTreeMap<String, String>) -> bool {
    labels.get(ISTIO_MODE).is_some_and(|mode| mode == "ambient")
}

fn ambient(whose: &str) -> Refusal {
    let message = format!(
        "the {whose}'s label {ISTIO_MODE}: ambient lets istio's ztunnel take every inbound \
         connection; label the pod {ISTIO_MODE}: none"
    );
    Refusal::new(Reason::OtherMeshCapturesPort, message)
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

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_list_of_ports_has_numbers_and_ranges() {
        for list in ["15001", "25,15001", "25, 15000-15010 ", "15001-15001"] {
            assert!(covers(list, 15001), "{list}");
        }
        for list in [
            "",
            "25",
            "15002-15010",
            "15010-15000",
            "http",
            "1500",
            "-15001",
        ] {
            assert!(!covers(list, 15001), "{list}");
        }
    }
}
