//! What people are told by Events: once when it begins, not each time we look.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::status::{ConditionType, ProxyUnwrapStatus};

use super::tally::{ByName, Stale, Tallies, Tally};
use super::{Seen, workloads};
use crate::controller::status::{CONFLICTED, condition, pods_up_to_date, stale};
use crate::events::{Kind, Notice};
use crate::policy::Origin;

/// Something that holds now and that an Event is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The Event.
    pub notice: Notice,
    /// Whether the status that was there before says the same: somebody was told.
    pub already: bool,
}

/// What is told about a resource.
pub(super) fn about_resource(unwrap: &ProxyUnwrap, now: &ProxyUnwrapStatus) -> Vec<Told> {
    let before = unwrap.status.as_ref();
    let watched = [
        (ConditionType::Accepted, Kind::PolicyConflict),
        (ConditionType::PodsUpToDate, Kind::OutdatedPods),
    ];
    let bad = watched.into_iter().filter_map(|(of, kind)| {
        let now = condition(now, of)?;
        let is_bad = now.status == "False";
        let is_meant = kind != Kind::PolicyConflict || now.reason == CONFLICTED;
        (is_bad && is_meant).then(|| Told {
            already: before
                .and_then(|before| condition(before, of))
                .is_some_and(|before| before.reason == now.reason),
            notice: Notice {
                kind,
                regarding: unwrap.object_ref(&()),
                message: now.message.clone(),
            },
        })
    });
    bad.collect()
}

/// What is told about annotated Services and pods, which have no status.
pub(super) fn about_others(namespace: &str, tallies: &Tallies<'_>, seen: &Seen<'_>) -> Vec<Told> {
    let others = tallies.of_others();
    let told = others.flat_map(|(origin, tally)| match origin {
        Origin::Resource(_) => Vec::new(),
        Origin::Service(name) => about_service(namespace, name, tally, seen),
        Origin::Pod => about_pods(namespace, tally),
    });
    told.map(|(regarding, message)| Told {
        notice: Notice {
            kind: Kind::OutdatedPods,
            regarding,
            message,
        },
        already: false,
    })
    .collect()
}

fn about_service(
    namespace: &str,
    name: &String,
    tally: &Tally<'_>,
    seen: &Seen<'_>,
) -> Vec<(ObjectReference, String)> {
    let services = seen.world.services.get(namespace).into_iter().flatten();
    let mut services = services.filter(|service| service.metadata.name.as_ref() == Some(name));
    let told = services.next().zip(pods_up_to_date(namespace, tally));
    let told = told.map(|(service, message)| (service.object_ref(&()), message));
    told.into_iter().collect()
}

fn about_pods(namespace: &str, tally: &Tally<'_>) -> Vec<(ObjectReference, String)> {
    let all = tally.stale.keys();
    all.map(|one| (stale_reference(namespace, one), stale(namespace, one)))
        .collect()
}

fn stale_reference(namespace: &str, stale: &Stale<'_>) -> ObjectReference {
    let (api_version, kind, name, uid) = match stale {
        Stale::Workload(ByName(one)) => {
            ("apps/v1", workloads::kind(one.kind), &*one.name, &*one.uid)
        }
        Stale::Pod(name, uid) => ("v1", "Pod", *name, *uid),
    };
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}
