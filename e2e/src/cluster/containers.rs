//! A pod's containers: whether the sidecar is among them, and what the status says, in words.

use k8s_openapi::api::core::v1::{Container, ContainerState, ContainerStatus, Pod, PodStatus};
use proxyunwrap_api::names::SIDECAR;

use super::wait::Hopeless;

/// All of a pod's containers, in the order in which they start.
pub fn statuses(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    let init = status.init_container_statuses.iter().flatten();
    init.chain(status.container_statuses.iter().flatten())
}

/// The sidecar, if the pod has it.
pub fn sidecar(pod: &Pod) -> Option<&Container> {
    let spec = pod.spec.iter();
    let mut containers = spec.flat_map(|spec| spec.init_containers.iter().flatten());
    containers.find(|container| container.name == SIDECAR)
}

/// Whether the pod has the sidecar.
pub fn has_sidecar(pod: &Pod) -> bool {
    sidecar(pod).is_some()
}

/// A pod in one line: phase, what it waits for, and each container.
pub fn describe(pod: &Pod) -> String {
    let Some(status) = &pod.status else {
        return "has no status yet".to_owned();
    };
    let mut parts = vec![status.phase.clone().unwrap_or_default()];
    for condition in status.conditions.iter().flatten() {
        if condition.status != "True" {
            let message = condition.message.as_deref().unwrap_or_default();
            parts.push(format!("not {}: {message}", condition.type_));
        }
    }
    parts.extend(statuses(status).map(describe_container));
    parts.join("; ")
}

fn describe_container(container: &ContainerStatus) -> String {
    let name = &container.name;
    let state = container
        .state
        .as_ref()
        .map(describe_state)
        .unwrap_or_default();
    let ready = if container.ready { ", ready" } else { "" };
    let restarts = match container.restart_count {
        0 => String::new(),
        count => format!(", restarted {count} times"),
    };
    let last = container.last_state.as_ref().map(describe_state);
    let last = last.filter(|last| !last.is_empty());
    let last = last
        .map(|last| format!(", before that {last}"))
        .unwrap_or_default();
    format!("{name} {state}{ready}{restarts}{last}")
}

fn describe_state(state: &ContainerState) -> String {
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        let message = waiting.message.as_deref().unwrap_or_default();
        return format!("waits: {reason} {message}").trim_end().to_owned();
    }
    if let Some(ended) = &state.terminated {
        let message = ended.message.as_deref().unwrap_or_default().trim_end();
        return format!("ended with {} {message}", ended.exit_code)
            .trim_end()
            .to_owned();
    }
    match state.running {
        Some(_) => "runs".to_owned(),
        None => String::new(),
    }
}

/// Reasons to wait that no time heals.
const NEVER: [&str; 4] = [
    "CreateContainerConfigError",
    "ErrImageNeverPull",
    "InvalidImageName",
    "RunContainerError",
];

/// An error when a pod that should become ready cannot, so that nobody waits for it.
///
/// # Errors
/// The pod has ended, or one of its containers waits for what will not come.
pub fn check_hope(pod: &Pod) -> Result<(), Hopeless> {
    let Some(status) = &pod.status else {
        return Ok(());
    };
    let ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    let stuck = statuses(status).any(|container| {
        let waiting = container
            .state
            .as_ref()
            .and_then(|state| state.waiting.as_ref());
        let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
        reason.is_some_and(|reason| NEVER.contains(&reason))
    });
    if ended || stuck {
        return Err(Hopeless(describe(pod)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap()
    }

    fn container(name: &str, state: &serde_json::Value) -> serde_json::Value {
        json!({
            "name": name, "state": state, "ready": false, "restartCount": 0,
            "image": "", "imageID": "",
        })
    }

    #[test]
    fn a_pod_that_waits_says_for_what() {
        let init = json!({"terminated": {"exitCode": 1, "message": "init needs NET_ADMIN\n"}});
        let app = json!({"waiting": {"reason": "PodInitializing"}});
        let pod = pod(&json!({
            "phase": "Pending",
            "conditions": [{"type": "Initialized", "status": "False", "message": "init failed"}],
            "initContainerStatuses": [container("proxyunwrap-init", &init)],
            "containerStatuses": [container("app", &app)],
        }));
        let want = "Pending; not Initialized: init failed; \
                    proxyunwrap-init ended with 1 init needs NET_ADMIN; app waits: PodInitializing";
        assert_eq!(describe(&pod), want);
        assert!(check_hope(&pod).is_ok());
    }

    #[test]
    fn an_image_that_is_not_there_is_hopeless() {
        let state = json!({"waiting": {"reason": "ErrImageNeverPull"}});
        let pod =
            pod(&json!({"phase": "Pending", "containerStatuses": [container("app", &state)]}));
        assert!(check_hope(&pod).is_err());
    }
}
