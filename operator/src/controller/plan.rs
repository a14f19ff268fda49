//! What a namespace holds to what is to be written there. Pure: the same input, the same plan.
//!
//! [`pods`] looks at each pod, [`tally`] adds up what belongs to whom, [`super::status`] makes the
//! answer of it. A plan is about one namespace as a whole, so nothing depends on the order in which
//! changes came in.

mod label;
mod notices;
mod pods;
mod push;
mod restarts;
mod selections;
pub mod tally;
pub mod workloads;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use proxyunwrap_api::status::PodCounts;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapStatus};

pub use self::label::Label;
pub use self::notices::Told;
pub use self::push::Push;
pub use self::restarts::Restart;
use self::tally::Tallies;
use super::status;
use super::validate::validate;
use crate::settings::Settings;
use crate::watch::Unreadable;
use crate::world::World;

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The cluster.
    pub world: &'a World,
    /// Resources that could not be read.
    pub unreadable: &'a [Unreadable],
    /// What is set for the whole cluster.
    pub settings: &'a Settings,
    /// Pods whose configuration was refused again and again: what the API server said, by uid.
    pub troubles: &'a BTreeMap<String, String>,
    /// What was last written to resources that cannot be read, by uid: the watch does not say.
    pub answered: &'a BTreeMap<String, ProxyUnwrapStatus>,
}

/// What is to be written in a namespace; empty when everything is as it should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Pods whose configuration is another one now.
    pub pushes: Vec<Push>,
    /// Resources whose status is another one now.
    pub answers: Vec<Answer>,
    /// The namespace's label.
    pub label: Option<Label>,
    /// Workloads to restart, for resources that ask for it.
    pub restarts: Vec<Restart>,
    /// What people are to be told, as long as it holds.
    pub notices: Vec<Told>,
    /// Pods of the namespace by what became of them.
    pub counts: PodCounts,
}

/// A resource's new status.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The resource's name.
    pub name: String,
    /// Its uid: another resource of this name is not answered.
    pub uid: String,
    /// All of the status.
    pub status: ProxyUnwrapStatus,
}

/// What is to be written in a namespace.
pub fn plan(namespace: &str, seen: &Seen<'_>, now: Timestamp) -> Plan {
    let unwraps = oldest_first(namespace, seen.world);
    let pods = pods::look(namespace, &unwraps, seen);
    let tallies = Tallies::of(namespace, &unwraps, &pods, seen);
    let mut plan = Plan {
        label: label::plan(namespace, seen),
        counts: tallies.counts(),
        ..Plan::default()
    };
    for unwrap in &unwraps {
        let mut tally = tallies.of_resource(&unwrap.name_any());
        tally.restarts = restarts::permitted(unwrap, seen.settings);
        let verdict = validate(unwrap, namespace, seen.world, seen.settings);
        let answer = status::answer(unwrap, &verdict, &tally, now);
        plan.notices
            .extend(notices::about_resource(unwrap, &answer));
        plan.restarts
            .extend(restarts::plan(unwrap, namespace, &tally));
        if unwrap.status.as_ref() != Some(&answer) {
            plan.answers.push(Answer::to(unwrap, answer));
        }
    }
    plan.notices
        .extend(notices::about_others(namespace, &tallies, seen));
    plan.answers.extend(unreadable(namespace, seen, now));
    plan.pushes = pods.into_iter().filter_map(|pod| pod.push).collect();
    plan
}

impl Answer {
    fn to(unwrap: &ProxyUnwrap, status: ProxyUnwrapStatus) -> Self {
        Self {
            name: unwrap.name_any(),
            uid: unwrap.uid().unwrap_or_default(),
            status,
        }
    }
}

/// Resources of a namespace in the order in which they win.
fn oldest_first(namespace: &str, world: &World) -> Vec<Arc<ProxyUnwrap>> {
    let mut unwraps = world.unwraps.get(namespace).cloned().unwrap_or_default();
    unwraps.sort_by_cached_key(|one| by_age(one));
    unwraps
}

/// The order in which resources win, as in [`policy::select`](crate::policy::select): the oldest
/// first, then by name.
pub(super) fn by_age(unwrap: &ProxyUnwrap) -> impl Ord + use<> {
    let made = unwrap.creation_timestamp();
    (made.is_none(), made, unwrap.name_any())
}

fn unreadable(namespace: &str, seen: &Seen<'_>, now: Timestamp) -> Vec<Answer> {
    let here = seen.unreadable.iter();
    here.filter(|one| one.namespace == namespace)
        .filter_map(|one| {
            let before = seen.answered.get(&one.uid);
            let status = status::unreadable(one, before, now);
            (before != Some(&status)).then(|| Answer {
                name: one.name.clone(),
                uid: one.uid.clone(),
                status,
            })
        })
        .collect()
}
