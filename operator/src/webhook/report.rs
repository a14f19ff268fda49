//! What is told of a review beside its answer.

use k8s_openapi::api::core::v1::ObjectReference;

use super::review::{Outcome, Report};
use crate::events::{Kind, Notice};
use crate::refusal::Reason;

/// One line; what concerns nobody is for debugging only.
pub(super) fn log(report: &Report) {
    let Report { namespace, pod, .. } = report;
    let result = report.outcome.name();
    let reason = report.reason.map_or("", Reason::name);
    match report.outcome {
        Outcome::Injected | Outcome::Skipped => {
            tracing::info!(namespace, pod, result, "pod reviewed");
        }
        Outcome::Refused => {
            let message = &report.message;
            tracing::warn!(namespace, pod, result, reason, message, "pod reviewed");
        }
        Outcome::Unchanged => tracing::debug!(namespace, pod, result, "pod reviewed"),
    }
}

/// The Event about it: none where all is well, or where nothing is going to be stored.
pub(super) fn notice(report: &Report) -> Option<Notice> {
    let kind = match report.outcome {
        Outcome::Refused => Kind::InjectionRefused,
        Outcome::Skipped => Kind::InjectionSkipped,
        Outcome::Injected | Outcome::Unchanged => return None,
    };
    if report.dry_run {
        return None;
    }
    let message = match report.reason {
        Some(reason) => format!("{reason}: {}", report.message),
        None => report.message.clone(),
    };
    Some(Notice {
        kind,
        regarding: regarding(report),
        message,
    })
}

/// The pod itself does not exist yet, and may never: its owner does.
fn regarding(report: &Report) -> ObjectReference {
    let object = match &report.owner {
        Some(owner) => ObjectReference {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            name: Some(owner.name.clone()),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        },
        None => ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(report.pod.clone()),
            ..ObjectReference::default()
        },
    };
    ObjectReference {
        namespace: Some(report.namespace.clone()),
        ..object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::review::Owner;

    fn report(outcome: Outcome) -> Report {
        Report {
            outcome,
            reason: Some(Reason::HostNetwork),
            namespace: "shop".to_owned(),
            pod: "web-".to_owned(),
            owner: Some(Owner {
                api_version: "apps/v1".to_owned(),
                kind: "ReplicaSet".to_owned(),
                name: "web-7c9".to_owned(),
                uid: "u1".to_owned(),
            }),
            message: "the pod shares the node's network".to_owned(),
            dry_run: false,
        }
    }

    #[test]
    fn a_refusal_is_told_of_the_owner_in_its_namespace_with_the_reason_first() {
        let notice = notice(&report(Outcome::Refused)).unwrap();
        assert_eq!(notice.kind, Kind::InjectionRefused);
        assert_eq!(notice.regarding.name.as_deref(), Some("web-7c9"));
        assert_eq!(notice.regarding.namespace.as_deref(), Some("shop"));
        assert_eq!(
            notice.message,
            "HostNetwork: the pod shares the node's network"
        );
    }

    #[test]
    fn nobody_is_told_of_what_went_well_or_of_a_rehearsal() {
        let rehearsal = Report {
            dry_run: true,
            ..report(Outcome::Refused)
        };
        for report in [
            report(Outcome::Injected),
            report(Outcome::Unchanged),
            rehearsal,
        ] {
            assert_eq!(notice(&report), None);
        }
    }

    #[test]
    fn a_pod_without_an_owner_is_told_of_itself() {
        let report = Report {
            owner: None,
            ..report(Outcome::Skipped)
        };
        let notice = notice(&report).unwrap();
        assert_eq!(notice.regarding.kind.as_deref(), Some("Pod"));
        assert_eq!(notice.regarding.name.as_deref(), Some("web-"));
    }
}
