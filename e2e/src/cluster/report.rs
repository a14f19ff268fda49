//! What a person needs when a test has failed: events, resources, the operator's log, pods, every
//! container's log, and the rules of the network of each pod that has the dataplane.

use std::fmt::Write;

use k8s_openapi::api::core::v1::Pod as Object;
use kube::api::ListParams;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::names::GROUP;

use super::containers::{describe, has_sidecar, statuses};
use super::{Namespace, Node, Operator, Pod, event, unwrap};

/// Lines of a log that are shown, from its end.
const LINES: usize = 60;

/// Tells all about a namespace. What cannot be found out is told as well, instead of an error.
pub async fn of(space: &Namespace) -> String {
    let mut text = format!("--- report of namespace {}\n", space.name());
    text += &told("events", events(space).await);
    text += &told("resources", resources(space).await);
    text += &told("operators", operators().await);
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
    text += &answers(&object);
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

async fn rules(space: &Namespace, pod: &Pod) -> anyhow::Result<String> {
    Node::of(space, pod).await?.rules(pod).await
}

async fn events(space: &Namespace) -> anyhow::Result<String> {
    let events = event::in_order(space).await?;
    let lines = events.iter().map(event::describe);
    Ok(lines.map(|line| line + "\n").collect())
}

async fn resources(space: &Namespace) -> anyhow::Result<String> {
    let api = space.api::<ProxyUnwrap>();
    let listed = api.list(&ListParams::default()).await?;
    Ok(listed.iter().map(unwrap::report).collect())
}

/// The end of each operator's log, which is about other tests, too.
async fn operators() -> anyhow::Result<String> {
    let mut text = String::new();
    for (pod, log) in Operator::connect().await?.logs().await? {
        writeln!(text, "{pod}:\n{}", end_of(log).trim_end())?;
    }
    Ok(text)
}

/// What the operator says about a pod.
fn answers(pod: &Object) -> String {
    let annotations = pod.metadata.annotations.iter().flatten();
    let ours = annotations.filter(|(key, _)| key.starts_with(GROUP));
    ours.map(|(key, value)| format!("{key}: {}\n", value.trim_end()))
        .collect()
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
