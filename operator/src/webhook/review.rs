//! An AdmissionReview's bytes to the answer's bytes. Pure; any bytes are answered, none panic.
//!
//! A pod that was meant and cannot be injected is made as it is, and says why, unless the settings deny
//! it. A pod that nobody means is never changed.

mod wire;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::names::answers;
use serde_json::Value;

use self::wire::Answer;
pub use self::wire::Unreadable;
use crate::inject;
use crate::policy::{self, Policy, Selection};
use crate::refusal::{Reason, Refusal};
use crate::settings::{OnRefusal, Settings};
use crate::world::World;

/// An answer, and what is told about it elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// The AdmissionReview to answer with.
    pub response: Vec<u8>,
    /// For metrics, logs and Events.
    pub report: Report,
}

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// One of a closed set.
    pub outcome: Outcome,
    /// Why it was refused.
    pub reason: Option<Reason>,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name, or what its name will begin with.
    pub pod: String,
    /// Its controller, if it has one.
    pub owner: Option<Owner>,
    /// A sentence for people; empty if all is well.
    pub message: String,
    /// Whether nothing is going to be stored: nobody is told then.
    pub dry_run: bool,
}

/// What became of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It has the sidecar now.
    Injected,
    /// Nobody means it, or it had everything already.
    Unchanged,
    /// It is meant, and its annotation or namespace says no.
    Skipped,
    /// It is meant, and that cannot be done.
    Refused,
}

/// A pod's controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its apiVersion.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Outcome {
    /// All.
    pub const ALL: [Self; 4] = [
        Self::Injected,
        Self::Unchanged,
        Self::Skipped,
        Self::Refused,
    ];

    /// As it is written in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Injected => "injected",
            Self::Unchanged => "unchanged",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }
}

/// Answers a review.
///
/// # Errors
/// When there is nothing to answer to.
pub fn review(body: &[u8], world: &World, settings: &Settings) -> Result<Reviewed, Unreadable> {
    let asked = wire::read(body)?;
    let mut report = Report {
        outcome: Outcome::Unchanged,
        reason: None,
        namespace: asked.namespace,
        pod: String::new(),
        owner: None,
        message: String::new(),
        dry_run: asked.dry_run,
    };
    let answer = match &asked.pod {
        Some(pod) => judge(pod, &mut report, world, settings),
        None => Answer::allowed(),
    };
    Ok(Reviewed {
        response: answer.written(&asked.uid),
        report,
    })
}

fn judge(pod: &Value, report: &mut Report, world: &World, settings: &Settings) -> Answer {
    let seen = match inject::seen(pod) {
        Ok(seen) => seen,
        // Whether somebody means it cannot be told, so it is never denied.
        Err(refusal) => return refused(pod, report, &refusal, OnRefusal::Warn),
    };
    if report.namespace.is_empty() {
        report.namespace = seen.namespace().unwrap_or_default();
    }
    let metadata = &seen.metadata;
    let name = metadata.name.as_ref().or(metadata.generate_name.as_ref());
    report.pod = name.cloned().unwrap_or_default();
    report.owner = controller(&seen);
    let done = match policy::select(&seen, &report.namespace, world, settings) {
        Selection::NotMeant => return Answer::allowed(),
        Selection::Disabled => {
            report.outcome = Outcome::Skipped;
            return Answer::allowed();
        }
        Selection::Refused(refusal) => Err(refusal),
        Selection::Governed(policy) => {
            injected(pod, &seen, &report.namespace, &policy, world, settings)
        }
    };
    match done {
        Ok(patch) => {
            if !patch.is_empty() {
                report.outcome = Outcome::Injected;
            }
            Answer::patched(patch)
        }
        Err(refusal) => refused(pod, report, &refusal, settings.webhook.on_refusal),
    }
}

fn injected(
    pod: &Value,
    seen: &Pod,
    namespace: &str,
    policy: &Policy,
    world: &World,
    settings: &Settings,
) -> Result<json_patch::Patch, Refusal> {
    let labels = world.namespace_labels(namespace);
    inject::namespace_allows(seen, namespace, &labels, settings)?;
    inject::patch(pod, policy, settings)
}

fn refused(pod: &Value, report: &mut Report, refusal: &Refusal, then: OnRefusal) -> Answer {
    report.outcome = Outcome::Refused;
    report.reason = Some(refusal.reason);
    report.message = refusal.message.clone();
    let sentence = format!("proxyunwrap: {refusal}");
    match then {
        OnRefusal::Deny => Answer::denied(sentence),
        OnRefusal::Warn => Answer::warned(
            inject::mark(pod, answers::REFUSED, &refusal.to_string()),
            sentence,
        ),
    }
}

fn controller(pod: &Pod) -> Option<Owner> {
    let mut owners = pod.owner_references().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(Owner {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}
