//! What the conditions of a resource say.
//!
//! | condition | True | otherwise |
//! |---|---|---|
//! | Accepted | Accepted | Invalid, NamespaceNotServed, TargetNotFound, Conflicted |
//! | ResolvedRefs | ResolvedRefs | TargetNotFound, NoTrustedPeers |
//! | Programmed | Programmed | Pending, PodsNotUpdated |
//! | PodsUpToDate | UpToDate | RefusedPods, MissedPods, OutdatedPods |
//! | PodSecurityCompatible | Compatible | NamespaceEnforcesBaseline, NamespaceEnforcesRestricted |
//! | Ready | Ready | what stands in the way first |

use proxyunwrap_api::status::ConditionType;

use super::sentences;
use crate::controller::plan::tally::Tally;
use crate::controller::validate::Verdict;
use crate::policy::ProblemKind;
use crate::settings::PodSecurityLevel;

/// Reason of a resource whose pods belong to an older one.
pub(in crate::controller) const CONFLICTED: &str = "Conflicted";

/// What is said of a condition.
pub(super) struct Said {
    pub(super) of: ConditionType,
    pub(super) truth: Truth,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// A condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Yes,
    No,
    Unknown,
}

/// Which condition Ready repeats, if several are not true: causes come before what follows from
/// them, and what passes by itself comes last.
const BY_CAUSE: [ConditionType; 5] = [
    ConditionType::Accepted,
    ConditionType::ResolvedRefs,
    ConditionType::PodSecurityCompatible,
    ConditionType::PodsUpToDate,
    ConditionType::Programmed,
];

/// All conditions, in the order in which they are shown.
pub(super) fn of(namespace: &str, verdict: &Verdict, tally: &Tally<'_>) -> Vec<Said> {
    let said = vec![
        accepted(verdict, tally),
        resolved_refs(verdict),
        programmed(tally),
        pods_up_to_date(namespace, tally),
        pod_security(namespace, verdict.level),
    ];
    with_ready(said)
}

/// All conditions of a resource that cannot be read.
pub(super) fn unreadable(error: &str) -> Vec<Said> {
    let mut said = vec![no(
        ConditionType::Accepted,
        "Invalid",
        format!(
            "the resource cannot be read: {error}; correct it, or bring operator and resource definition to one version. Running pods keep what they have"
        ),
    )];
    let others = BY_CAUSE.into_iter().skip(1).map(|of| Said {
        of,
        truth: Truth::Unknown,
        reason: "Invalid",
        message: "not known while the resource cannot be read".to_owned(),
    });
    said.extend(others);
    said.sort_by_key(|said| said.of);
    with_ready(said)
}

fn with_ready(mut said: Vec<Said>) -> Vec<Said> {
    let bad = BY_CAUSE.into_iter().find_map(|of| {
        let mut said = said.iter();
        said.find(|said| said.of == of && said.truth != Truth::Yes)
    });
    let ready = match bad {
        Some(bad) => no(ConditionType::Ready, bad.reason, bad.message.clone()),
        None => yes(
            ConditionType::Ready,
            "Ready",
            "every pod is served as written",
        ),
    };
    said.push(ready);
    said
}

fn accepted(verdict: &Verdict, tally: &Tally<'_>) -> Said {
    let of = ConditionType::Accepted;
    if let Some(mistake) = verdict.wrong(ProblemKind::Invalid) {
        return no(of, "Invalid", mistake);
    }
    if let Some(why) = &verdict.not_served {
        return no(of, "NamespaceNotServed", why.clone());
    }
    let missing = verdict.wrong(ProblemKind::TargetNotFound);
    if let Some(missing) = missing.filter(|_| verdict.no_target) {
        return no(of, "TargetNotFound", missing);
    }
    match sentences::conflict(verdict.twin.as_deref(), tally) {
        Some(conflict) => no(of, CONFLICTED, conflict),
        None => yes(of, "Accepted", "the resource is carried out"),
    }
}

fn resolved_refs(verdict: &Verdict) -> Said {
    let of = ConditionType::ResolvedRefs;
    if let Some(missing) = verdict.wrong(ProblemKind::TargetNotFound) {
        return no(of, "TargetNotFound", missing);
    }
    match verdict.wrong(ProblemKind::NoTrustedPeers) {
        Some(nobody) => no(of, "NoTrustedPeers", nobody),
        None => yes(
            of,
            "ResolvedRefs",
            "every target and trusted peer that is named exists",
        ),
    }
}

fn programmed(tally: &Tally<'_>) -> Said {
    let of = ConditionType::Programmed;
    if let Some(stuck) = sentences::not_updated(tally) {
        return no(of, "PodsNotUpdated", stuck);
    }
    if tally.pending > 0 {
        return no(
            of,
            "Pending",
            "the present configuration is on its way to the pods",
        );
    }
    yes(
        of,
        "Programmed",
        "every pod with the sidecar has the present configuration",
    )
}

/// Pods that the namespace's Pod Security level keeps out are told in a condition of their own.
fn pods_up_to_date(namespace: &str, tally: &Tally<'_>) -> Said {
    let of = ConditionType::PodsUpToDate;
    let Some(message) = sentences::pods_up_to_date(namespace, tally) else {
        return yes(of, "UpToDate", "no pod is outdated or was missed");
    };
    let reason = if sentences::refused(tally).is_some() {
        "RefusedPods"
    } else if tally.missed > 0 {
        "MissedPods"
    } else {
        "OutdatedPods"
    };
    no(of, reason, message)
}

fn pod_security(namespace: &str, level: PodSecurityLevel) -> Said {
    let of = ConditionType::PodSecurityCompatible;
    let reason = match level {
        PodSecurityLevel::Privileged => {
            return yes(of, "Compatible", "the namespace admits the init container");
        }
        PodSecurityLevel::Baseline => "NamespaceEnforcesBaseline",
        PodSecurityLevel::Restricted => "NamespaceEnforcesRestricted",
    };
    no(of, reason, sentences::pod_security(namespace, level))
}

fn yes(of: ConditionType, reason: &'static str, message: &str) -> Said {
    Said {
        of,
        truth: Truth::Yes,
        reason,
        message: message.to_owned(),
    }
}

fn no(of: ConditionType, reason: &'static str, message: impl Into<String>) -> Said {
    Said {
        of,
        truth: Truth::No,
        reason,
        message: message.into(),
    }
}
