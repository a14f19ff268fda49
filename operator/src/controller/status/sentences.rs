//! Sentences of a status: what is wrong, with the object's name, and what to do.

use crate::controller::plan::tally::{ByName, Restarts, Stale, Tally};
use crate::controller::plan::workloads;
use crate::refusal::Reason;
use crate::settings::PodSecurityLevel;

/// Names in one sentence; the rest is counted.
const SHOWN: usize = 5;

/// Why another resource wins.
const FIRST: &str = "which is older (or first by name)";

pub(super) fn conflict(twin: Option<&str>, tally: &Tally<'_>) -> Option<String> {
    let fix = "make their selectors or targets exclusive, or delete one of them";
    let lost = tally.lost.iter();
    let lost =
        lost.map(|(winner, count)| format!("{} to ProxyUnwrap {winner}, {FIRST}", belong(*count)));
    match (tally.lost.is_empty(), twin) {
        (false, _) => Some(format!("{}; {fix}", some(lost))),
        (true, Some(twin)) => Some(format!(
            "ProxyUnwrap {twin}, {FIRST}, has the same selector or target; {fix}"
        )),
        (true, None) => None,
    }
}

fn belong(count: u32) -> String {
    match count {
        1 => "1 pod belongs".to_owned(),
        _ => format!("{count} pods belong"),
    }
}

pub(super) fn not_updated(tally: &Tally<'_>) -> Option<String> {
    let (pod, error) = tally.troubled.first_key_value()?;
    let count = tally.troubled.len();
    Some(format!(
        "{} cannot be given the present configuration, which is tried again; pod {pod}: {error}",
        pods(count),
    ))
}

/// What is wrong with pods, and what makes it right; none if nothing is wrong.
pub(in crate::controller) fn pods_up_to_date(namespace: &str, tally: &Tally<'_>) -> Option<String> {
    let mut parts: Vec<String> = refused(tally).into_iter().collect();
    parts.extend(missed(tally));
    parts.extend(outdated(tally));
    parts.extend(renewal(namespace, tally));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Pods that cannot have the sidecar, by reason; without those of the Pod Security level.
pub(super) fn refused(tally: &Tally<'_>) -> Option<String> {
    let refused = tally.refused.iter();
    let refused = refused.filter(|(reason, _)| **reason != Reason::PodSecurityLevel);
    let said: Vec<_> = refused
        .map(|(reason, (count, first))| {
            format!("{} refused, {reason}: {}", are(*count), first.message)
        })
        .collect();
    (!said.is_empty()).then(|| some(said.into_iter()))
}

fn missed(tally: &Tally<'_>) -> Option<String> {
    let count = (tally.missed > 0).then(|| are(tally.missed))?;
    Some(match &tally.refused_then {
        Some(refusal) => format!(
            "{count} without sidecar and could have it by now: refused when made, {refusal}"
        ),
        None => format!(
            "{count} without sidecar: made before somebody asked for it, or while the webhook was away"
        ),
    })
}

fn outdated(tally: &Tally<'_>) -> Vec<String> {
    let kept: u32 = tally.kept.values().map(|(count, _)| count).sum();
    let renewed = tally.counts.outdated - tally.leftover - kept;
    let mut parts = Vec::new();
    if renewed > 0 {
        let count = are(renewed);
        parts.push(format!(
            "{count} outdated: the sidecar is of an earlier state"
        ));
    }
    for (reason, (count, first)) in &tally.kept {
        parts.push(format!(
            "{} outdated and would be refused if made anew, {reason}: {}",
            are(*count),
            first.message
        ));
    }
    if tally.leftover > 0 {
        let count = are(tally.leftover);
        parts.push(format!(
            "{count} no longer meant and keeps its sidecar until made anew"
        ));
    }
    parts
}

/// What makes pods anew. We restart only what has a sidecar afterwards.
fn renewal(namespace: &str, tally: &Tally<'_>) -> Vec<String> {
    let (mut ours, mut theirs, mut pods) = (Vec::new(), Vec::new(), Vec::new());
    for (stale, hash) in &tally.stale {
        match stale {
            Stale::Pod(name, _) => pods.push((*name).to_owned()),
            Stale::Workload(ByName(workload)) => {
                let is_ours = hash.is_some() && tally.restarts == Restarts::ByUs;
                let list = if is_ours { &mut ours } else { &mut theirs };
                list.push(workloads::written(workload));
            }
        }
    }
    let mut fixes = Vec::new();
    if !ours.is_empty() {
        let ours = shown(&ours, ", ");
        fixes.push(format!(
            "the operator restarts, one after the other: {ours}"
        ));
    }
    if tally.restarts == Restarts::NotPermitted && !theirs.is_empty() {
        fixes.push("rollout.strategy asks for restarts, and the operator was installed without (controller.restarts)".to_owned());
    }
    if !theirs.is_empty() {
        let theirs = shown(&theirs, " ");
        fixes.push(format!("kubectl -n {namespace} rollout restart {theirs}"));
    }
    if !pods.is_empty() {
        let pods = shown(&pods, ", ");
        fixes.push(format!(
            "no workload makes anew pod {pods}: delete it and make it anew"
        ));
    }
    fixes
}

/// What is told about one workload or pod that only has annotations of its own.
pub(in crate::controller) fn stale(namespace: &str, stale: &Stale<'_>) -> String {
    let what = "without sidecar, or with one of an earlier state";
    match stale {
        Stale::Workload(ByName(workload)) => {
            let workload = workloads::written(workload);
            format!("it has pods {what}; kubectl -n {namespace} rollout restart {workload}")
        }
        Stale::Pod(_, _) => format!("the pod is {what}; delete it and make it anew"),
    }
}

pub(super) fn pod_security(namespace: &str, level: PodSecurityLevel) -> String {
    let level = match level {
        PodSecurityLevel::Privileged => "privileged",
        PodSecurityLevel::Baseline => "baseline",
        PodSecurityLevel::Restricted => "restricted",
    };
    format!(
        "namespace {namespace} enforces the Pod Security level {level}, which refuses NET_ADMIN of the init container, so new pods stay without sidecar; kubectl label --overwrite namespace {namespace} pod-security.kubernetes.io/enforce=privileged, or move the app to a namespace that has it"
    )
}

fn are(count: u32) -> String {
    match count {
        1 => "1 pod is".to_owned(),
        _ => format!("{count} pods are"),
    }
}

fn pods(count: usize) -> String {
    match count {
        1 => "1 pod".to_owned(),
        _ => format!("{count} pods"),
    }
}

fn some(all: impl Iterator<Item = String>) -> String {
    shown(&all.collect::<Vec<_>>(), "; ")
}

fn shown(all: &[String], between: &str) -> String {
    let shown: Vec<_> = all.iter().take(SHOWN).map(String::as_str).collect();
    let shown = shown.join(between);
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} (and {more} more)"),
    }
}
