//! A resource's status: six conditions and some counts. Pure.
//!
//! The same facts give the same status, with the times that were there before: a status is written
//! when it says something new and not otherwise.

mod conditions;
mod sentences;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use proxyunwrap_api::status::ConditionType;
use proxyunwrap_api::{ProxyUnwrap, ProxyUnwrapStatus};

pub(super) use self::conditions::CONFLICTED;
use self::conditions::{Said, Truth};
pub(super) use self::sentences::{pods_up_to_date, stale};
use super::plan::tally::Tally;
use super::validate::Verdict;
use crate::watch::Unreadable;

/// A resource's status.
pub fn answer(
    unwrap: &ProxyUnwrap,
    verdict: &Verdict,
    tally: &Tally<'_>,
    now: Timestamp,
) -> ProxyUnwrapStatus {
    let generation = unwrap.metadata.generation;
    let namespace = unwrap.metadata.namespace.as_deref().unwrap_or_default();
    let said = conditions::of(namespace, verdict, tally);
    ProxyUnwrapStatus {
        observed_generation: generation,
        conditions: dated(said, generation, unwrap.status.as_ref(), now),
        pods: tally.counts,
        trusted_networks: verdict.networks,
    }
}

/// The status of a resource that cannot be read.
pub fn unreadable(
    unwrap: &Unreadable,
    before: Option<&ProxyUnwrapStatus>,
    now: Timestamp,
) -> ProxyUnwrapStatus {
    let said = conditions::unreadable(&unwrap.error);
    ProxyUnwrapStatus {
        observed_generation: unwrap.generation,
        conditions: dated(said, unwrap.generation, before, now),
        ..ProxyUnwrapStatus::default()
    }
}

/// A condition of a status.
pub fn condition(status: &ProxyUnwrapStatus, of: ConditionType) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == of.name())
}

/// A condition's time is when its truth changed; another reason or sentence does not move it.
fn dated(
    said: Vec<Said>,
    generation: Option<i64>,
    before: Option<&ProxyUnwrapStatus>,
    now: Timestamp,
) -> Vec<Condition> {
    // Kubernetes keeps whole seconds: what is finer would never be what is read back.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let dated = said.into_iter().map(|said| {
        let before = before.and_then(|before| condition(before, said.of));
        let same = before.filter(|before| before.status == said.truth.name());
        Condition {
            type_: said.of.name().to_owned(),
            status: said.truth.name().to_owned(),
            reason: said.reason.to_owned(),
            message: said.message,
            last_transition_time: same
                .map_or(Time(now), |before| before.last_transition_time.clone()),
            observed_generation: generation,
        }
    });
    dated.collect()
}

impl Truth {
    const fn name(self) -> &'static str {
        match self {
            Self::Yes => "True",
            Self::No => "False",
            Self::Unknown => "Unknown",
        }
    }
}
