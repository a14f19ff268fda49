//! A plan in words, short enough to be read in a test.

use kube::ResourceExt;
use proxyunwrap_api::names;
use proxyunwrap_operator::controller::plan::{Answer, Plan, Push, Restart, Told, workloads};
use proxyunwrap_operator::world::World;

/// A plan, one line for each thing to write.
pub(crate) fn words(plan: &Plan, world: &World) -> String {
    let mut lines: Vec<String> = plan.answers.iter().flat_map(answer).collect();
    lines.extend(plan.pushes.iter().flat_map(|one| push(one, world)));
    lines.extend(
        plan.label
            .map(|label| format!("namespace label: {label:?}")),
    );
    lines.extend(plan.restarts.iter().map(restart));
    lines.extend(plan.notices.iter().map(told));
    let counts = plan.counts;
    lines.push(format!(
        "pods: {} matched, {} injected, {} outdated, {} failed",
        counts.matched, counts.injected, counts.outdated, counts.failed
    ));
    lines.join("\n")
}

/// Conditions that are not true say why.
fn answer(answer: &Answer) -> Vec<String> {
    let status = &answer.status;
    let pods = status.pods;
    let mut lines = vec![format!(
        "ProxyUnwrap {}: {} matched, {} injected, {} outdated, {} failed; trusts {}",
        answer.name,
        pods.matched,
        pods.injected,
        pods.outdated,
        pods.failed,
        status.trusted_networks
    )];
    for one in &status.conditions {
        lines.push(match &*one.status {
            "True" => format!("  {}", one.type_),
            other => format!(
                "  {} is {other}, {}: {}",
                one.type_, one.reason, one.message
            ),
        });
    }
    lines
}

/// The lines that change.
fn push(push: &Push, world: &World) -> Vec<String> {
    let pod = world
        .pods
        .values()
        .flatten()
        .find(|pod| pod.name_any() == push.pod);
    let before = pod.and_then(|pod| pod.annotations().get(names::answers::CONFIG));
    let before = before.map(String::as_str).unwrap_or_default();
    let urgent = if push.urgent { "urgently " } else { "" };
    let mut lines = vec![format!("{urgent}to pod {}:", push.pod)];
    let is_in = |line: &&str, text: &str| text.lines().any(|other| other == *line);
    let old = before.lines().filter(|line| !is_in(line, &push.config));
    let new = push.config.lines().filter(|line| !is_in(line, before));
    lines.extend(old.map(|line| format!("  -{line}")));
    lines.extend(new.map(|line| format!("  +{line}")));
    lines
}

fn restart(restart: &Restart) -> String {
    let workloads = restart.workloads.iter();
    let workloads: Vec<_> = workloads.map(|(one, _)| workloads::written(one)).collect();
    format!("restart for {}: {}", restart.unwrap, workloads.join(", "))
}

fn told(told: &Told) -> String {
    let about = &told.notice.regarding;
    let [kind, name] = [&about.kind, &about.name].map(|text| text.as_deref().unwrap_or("?"));
    let uid = about.uid.as_deref().unwrap_or("no uid");
    let message = &told.notice.message;
    format!(
        "tell {kind} {name} ({uid}) {:?}: {message}",
        told.notice.kind
    )
}
