//! What a person needs when a test has failed: events, pods, every container's log, and the rules
//! of the network of each pod that has the dataplane.

use std::fmt::Write;

use k8s_openapi::api::core::v1::{Event, Pod as Object};
use kube::api::ListParams;

use super::containers::{describe, statuses};
use super::{Namespace, Node, Pod};

/// Lines of a log that are shown, from its end.
const LINES: usize = 60;

/// The dataplane's container in a pod.
const SIDECAR: &str = "proxyunwrap";

/// Tells all about a namespace. What cannot be found out is told as well, instead of an error.
pub async fn of(space: &Namespace) -> String {
    let mut text = format!("--- report of namespace {}\n", space.name());
    text += &told("events", events(space).await);
    match space.pods("").await {
        Ok(pods) => {
            for pod in &pods {
                text += &of_pod(space, pod).await;
            }
        }
        Err(error) => text += &told("pods", Err(error)),
    }
    text + "--- end of report"
}

async fn of_pod(space: &Namespace, pod: &Pod) -> String {
    let object = match pod.object().await {
        Ok(object) => object,
        Err(error) => return told(pod.name(), Err(error)),
    };
    let mut text = format!("--- pod {}: {}\n", pod.name(), describe(&object));
    let status = object.status.clone().unwrap_or_default();
    for container in statuses(&status) {
        let name = &container.name;
        if container.restart_count > 0 {
            let title = format!("log of {name}, before its last restart");
            text += &told(&title, pod.logs(name, true).await.map(end_of));
        }
        let log = pod.logs(name, false).await.map(end_of);
        text += &told(&format!("log of {name}"), log);
    }
    if has_sidecar(&object) {
        text += &told("rules of its network", rules(space, pod).await);
    }
    text
}

fn has_sidecar(pod: &Object) -> bool {
    let spec = pod.spec.iter();
    let mut containers = spec.flat_map(|spec| spec.init_containers.iter().flatten());
    containers.any(|container| container.name == SIDECAR)
}

async fn rules(space: &Namespace, pod: &Pod) -> anyhow::Result<String> {
    Node::of(space, pod).await?.rules(pod).await
}

/// In the order in which they happened.
async fn events(space: &Namespace) -> anyhow::Result<String> {
    let mut events = space
        .api::<Event>()
        .list(&ListParams::default())
        .await?
        .items;
    events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
    let mut text = String::new();
    for event in events {
        let object = event.involved_object;
        let kind = object.kind.unwrap_or_default();
        let name = object.name.unwrap_or_default();
        let part = object.field_path.unwrap_or_default();
        let reason = event.reason.unwrap_or_default();
        let message = event.message.unwrap_or_default();
        writeln!(
            text,
            "{kind} {name} {part} {reason}: {}",
            message.trim_end()
        )?;
    }
    Ok(text)
}

/// A part with its title.
fn told(title: &str, found: anyhow::Result<String>) -> String {
    let found = found.unwrap_or_else(|error| format!("could not be read: {error:#}"));
    let end = if found.is_empty() || found.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("--- {title}\n{found}{end}")
}

/// What came last is what failed: a long log loses its beginning.
fn end_of(log: String) -> String {
    let lines: Vec<_> = log.lines().collect();
    let left_out = lines.len().saturating_sub(LINES);
    match left_out {
        0 => log,
        count => format!(
            "({count} lines before these)\n{}\n",
            lines[count..].join("\n")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_its_end() {
        let log: Vec<_> = (1..=100).map(|line| format!("line {line}")).collect();
        let text = end_of(log.join("\n"));
        assert!(
            text.starts_with("(40 lines before these)\nline 41\n"),
            "{text}"
        );
        assert!(text.ends_with("line 99\nline 100\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let text = told("log", Err(anyhow::anyhow!("container never ran")));
        assert_eq!(text, "--- log\ncould not be read: container never ran\n");
    }
}
