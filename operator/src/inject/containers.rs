//! Where init container and sidecar stand: first and second, before the app's own init containers.
//!
//! Those of the present state are left as they are: other admission plugins may have filled them in.

use proxyunwrap_api::names::{INIT_CONTAINER, PROBES, SIDECAR};
use proxyunwrap_api::spec::PullPolicy;
use serde_json::Value;

use super::edit::{Edit, at};
use super::probes::Probes;
use super::{Before, Injection, init_container, resources, sidecar};
use crate::refusal::Refusal;

/// Puts both containers where they are missing or of an earlier state.
pub(super) fn put(
    edit: &mut Edit,
    injection: &Injection,
    before: Before,
    probes: &Probes,
) -> Result<(), Refusal> {
    let list = at(["spec", "initContainers"]);
    let there = (
        edit.named(&list, INIT_CONTAINER),
        edit.named(&list, SIDECAR),
    );
    if let ((Some(_), Some(sidecar)), Before::Current) = (there, before) {
        return put_probes(edit, sidecar, probes);
    }
    let [init, sidecar] = made(edit, injection, probes);
    if let (Some(first), Some(second)) = there {
        edit.put(list.with_trailing_token(first), init)?;
        return edit.put(list.with_trailing_token(second), sidecar);
    }
    for alone in [there.0, there.1].into_iter().flatten() {
        edit.remove(list.with_trailing_token(alone))?;
    }
    edit.insert(&list, 0, init)?;
    edit.insert(&list, 1, sidecar)
}

fn made(edit: &Edit, injection: &Injection, probes: &Probes) -> [Value; 2] {
    let class = resources::class(edit);
    let init_resources = resources::given(&injection.init_resources, class);
    let resources = resources::given(&injection.resources, class);
    let restart = edit.get(&at(["spec", "restartPolicy"]));
    let ends_by_itself = restart.is_some_and(|policy| policy != "Always");
    let mut both = [
        init_container::container(injection, &init_resources),
        sidecar::container(injection, &resources, probes, ends_by_itself),
    ];
    if let Some(policy) = injection.image_pull_policy {
        for container in &mut both {
            container["imagePullPolicy"] = word(policy).into();
        }
    }
    both
}

/// A container with a probe of ours may have come after us.
fn put_probes(edit: &mut Edit, sidecar: usize, probes: &Probes) -> Result<(), Refusal> {
    if probes.is_empty() {
        return Ok(());
    }
    let list = at(["spec", "initContainers"]);
    let env = list.with_trailing_token(sidecar).with_trailing_token("env");
    let variable = sidecar::variable(probes);
    match edit.named(&env, PROBES) {
        Some(index) => edit.put(env.with_trailing_token(index), variable),
        None => edit.insert(&env, edit.items(&env).len(), variable),
    }
}

fn word(policy: PullPolicy) -> &'static str {
    match policy {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
}
