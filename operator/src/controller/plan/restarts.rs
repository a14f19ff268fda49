//! Which workloads are to be restarted, for resources that ask for it.

use kube::ResourceExt;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::spec::RolloutStrategy;

use super::tally::{Restarts, Stale, Tally};
use crate::settings::Settings;
use crate::world::Workload;

/// Workloads that a resource wants restarted, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// The resource.
    pub unwrap: String,
    /// Its namespace.
    pub namespace: String,
    /// Time between two restarts.
    pub interval: std::time::Duration,
    /// The workloads, and the hash that their new pods would have.
    pub workloads: Vec<(Workload, String)>,
}

/// Whether workloads are restarted for a resource.
pub(super) fn permitted(unwrap: &ProxyUnwrap, settings: &Settings) -> Restarts {
    match (unwrap.spec.rollout.strategy, settings.controller.restarts) {
        (RolloutStrategy::Never, _) => Restarts::ByPeople,
        (RolloutStrategy::RestartOutdated, true) => Restarts::ByUs,
        (RolloutStrategy::RestartOutdated, false) => Restarts::NotPermitted,
    }
}

/// Workloads with pods that are outdated or without sidecar, if new pods would be better: one whose
/// pods would be refused is left alone.
pub(super) fn plan(unwrap: &ProxyUnwrap, namespace: &str, tally: &Tally<'_>) -> Option<Restart> {
    if tally.restarts != Restarts::ByUs {
        return None;
    }
    let stale = tally.stale.iter();
    let workloads: Vec<_> = stale
        .filter_map(|(stale, hash)| match (stale, hash) {
            (Stale::Workload(workload), Some(hash)) => Some((workload.0.clone(), hash.clone())),
            (Stale::Workload(_) | Stale::Pod(_, _), _) => None,
        })
        .collect();
    (!workloads.is_empty()).then(|| Restart {
        unwrap: unwrap.name_any(),
        namespace: namespace.to_owned(),
        interval: unwrap.spec.rollout.interval.0,
        workloads,
    })
}
