//! One pod: whose it is, what became of it, and which configuration it should have.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::{ProxyUnwrap, names};

use super::Seen;
use super::push::{Push, Pushes};
use super::selections::{Chosen, Selections};
use crate::inject::Status;
use crate::policy::{Origin, Policy, Selection};
use crate::refusal::{Reason, Refusal};

/// A pod that is neither ended nor on its way out.
pub(super) struct Found<'a> {
    /// The pod.
    pub(super) pod: &'a Pod,
    /// Whose it is.
    pub(super) origin: Option<Origin>,
    /// Resources that want it, by their place in the order of winning, whosever it is.
    pub(super) meant_by: Vec<usize>,
    /// What became of it.
    pub(super) state: State,
    /// The configuration it is to be given.
    pub(super) push: Option<Push>,
}

/// What became of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// It is not to have the sidecar and has none.
    Plain,
    /// It has the sidecar that it should have.
    Current,
    /// It has a sidecar of an earlier state.
    Outdated(Renewal),
    /// It is to have the sidecar and cannot.
    Refused(Refusal),
    /// It could have the sidecar, with this hash: nobody was asked when it was made, or it was refused.
    Missed {
        /// What it would have.
        hash: String,
        /// What was said when it was refused.
        refused_then: Option<String>,
    },
}

/// What a new pod in its place would get.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Renewal {
    /// A sidecar with this hash.
    Sidecar(String),
    /// None: nobody means the pod any more.
    Nothing,
    /// None: it would be refused.
    Refused(Refusal),
}

/// Every pod of a namespace that counts.
pub(super) fn look<'a>(
    namespace: &'a str,
    unwraps: &'a [Arc<ProxyUnwrap>],
    seen: &Seen<'a>,
) -> Vec<Found<'a>> {
    let mut selections = Selections::new(namespace, unwraps, seen);
    let pushes = Pushes::default();
    let pods = seen.world.pods.get(namespace).into_iter().flatten();
    pods.filter(|pod| is_alive(pod))
        .map(|pod| Found::of(pod, &selections.of(pod), unwraps, &pushes))
        .collect()
}

/// Pods that have ended or are on their way out do not count: nothing can be done for them.
fn is_alive(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|one| one.phase.as_deref());
    let ended = matches!(phase, Some("Succeeded" | "Failed"));
    !ended && pod.metadata.deletion_timestamp.is_none()
}

impl<'a> Found<'a> {
    fn of(
        pod: &'a Pod,
        chosen: &Chosen,
        unwraps: &[Arc<ProxyUnwrap>],
        pushes: &Pushes<'a>,
    ) -> Self {
        let carried = carried(pod);
        let plain = Self {
            pod,
            origin: None,
            meant_by: Vec::new(),
            state: State::Plain,
            push: None,
        };
        match &chosen.selection {
            Selection::NotMeant | Selection::Disabled => plain.left_alone(carried.as_ref()),
            Selection::Refused(refusal) => Self {
                origin: refused_of(refusal, &chosen.meant_by, unwraps),
                state: state(pod, carried.as_ref(), chosen),
                meant_by: chosen.meant_by.clone(),
                ..plain
            },
            Selection::Governed(policy) => Self {
                origin: Some(policy.origin.clone()),
                state: state(pod, carried.as_ref(), chosen),
                meant_by: chosen.meant_by.clone(),
                push: carried.and_then(|carried| chosen.push(pod, policy, &carried, pushes)),
                ..plain
            },
        }
    }

    /// A sidecar that nobody wants any more goes on as it is until the pod is made anew.
    fn left_alone(self, carried: Option<&Status>) -> Self {
        let Some(carried) = carried else {
            return self;
        };
        Self {
            origin: origin(&carried.policy),
            state: State::Outdated(Renewal::Nothing),
            ..self
        }
    }
}

impl Chosen {
    /// A pod that would be refused today keeps its sidecar, and follows its policy like any other: in
    /// the end whom it trusts. Only what cannot be written down at all is not given to it.
    fn push<'a>(
        &self,
        pod: &'a Pod,
        policy: &Policy,
        carried: &Status,
        pushes: &Pushes<'a>,
    ) -> Option<Push> {
        let refusal = self.renewed.as_ref().err();
        let is_writable = refusal.is_none_or(|refusal| refusal.reason != Reason::InvalidPolicy);
        if !is_writable || carried.ports.is_empty() {
            return None;
        }
        pushes.plan(pod, &self.configuration(policy, &carried.ports))
    }
}

/// What became of a pod that somebody means. One that has what it should have is as it should be,
/// whether or not its namespace would admit another.
fn state(pod: &Pod, carried: Option<&Status>, chosen: &Chosen) -> State {
    match (carried, &chosen.renewed, &chosen.admitted) {
        (Some(carried), Ok(hash), _) if carried.hash == *hash => State::Current,
        (Some(_), Err(refusal), _) | (Some(_), Ok(_), Err(refusal)) => {
            State::Outdated(Renewal::Refused(refusal.clone()))
        }
        (Some(_), Ok(hash), Ok(())) => State::Outdated(Renewal::Sidecar(hash.clone())),
        (None, Err(refusal), _) | (None, Ok(_), Err(refusal)) => State::Refused(refusal.clone()),
        (None, Ok(hash), Ok(())) => State::Missed {
            hash: hash.clone(),
            refused_then: pod.annotations().get(names::answers::REFUSED).cloned(),
        },
    }
}

/// A pod that is refused is told to the resource that would have it. One that picks a resource
/// that does not exist is nobody's.
fn refused_of(
    refusal: &Refusal,
    meant_by: &[usize],
    unwraps: &[Arc<ProxyUnwrap>],
) -> Option<Origin> {
    if refusal.reason == Reason::PolicyNotFound {
        return None;
    }
    let oldest = meant_by.first().and_then(|place| unwraps.get(*place));
    oldest.map(|unwrap| Origin::Resource(unwrap.name_any()))
}

/// What a pod carries; none without our sidecar, whatever its annotations say. An answer that cannot
/// be read is one of an earlier state.
fn carried(pod: &Pod) -> Option<Status> {
    let mut init = pod.spec.as_ref()?.init_containers.iter().flatten();
    init.find(|container| container.name == names::SIDECAR)?;
    pod.annotations().get(names::answers::STATUS)?;
    let unreadable = || Status {
        version: String::new(),
        policy: String::new(),
        hash: String::new(),
        ports: Vec::new(),
    };
    Some(Status::of(pod).unwrap_or_else(unreadable))
}

/// Whose a pod was, as its status says.
fn origin(policy: &str) -> Option<Origin> {
    match policy.split_once('/') {
        Some(("ProxyUnwrap", name)) => Some(Origin::Resource(name.to_owned())),
        Some(("Service", name)) => Some(Origin::Service(name.to_owned())),
        _ => (policy == "Pod").then_some(Origin::Pod),
    }
}
