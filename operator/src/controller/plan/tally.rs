//! Adds up what became of the pods: for each resource, for each annotated Service, and for pods that
//! only have annotations of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::status::PodCounts;

use super::pods::{Found, Renewal, State};
use super::{Seen, workloads};
use crate::policy::Origin;
use crate::refusal::{Reason, Refusal};
use crate::world::Workload;

/// All tallies of a namespace.
pub struct Tallies<'a> {
    by_origin: BTreeMap<Origin, Tally<'a>>,
    /// Pods that nobody can be told about, such as one that picks a resource that does not exist.
    nobodys: Tally<'a>,
}

/// What became of the pods that belong together.
#[derive(Clone, Default)]
pub struct Tally<'a> {
    /// For the status.
    pub counts: PodCounts,
    /// Pods that are meant and belong to an older resource, by its name.
    pub lost: BTreeMap<String, u32>,
    /// Pods without the sidecar that cannot have it: how many, and what was said of the first.
    pub refused: BTreeMap<Reason, (u32, Refusal)>,
    /// Outdated pods that would be refused if they were made anew, likewise.
    pub kept: BTreeMap<Reason, (u32, Refusal)>,
    /// Pods that could have the sidecar and do not.
    pub missed: u32,
    /// Those of them that were refused when they were made: what was said of the first.
    pub refused_then: Option<String>,
    /// Outdated pods that nobody means any more.
    pub leftover: u32,
    /// Pods to which the configuration is on its way.
    pub pending: u32,
    /// Pods whose configuration was refused again and again: a pod, and what the API server said.
    pub troubled: BTreeMap<String, String>,
    /// What is to be made anew, with the hash that new pods would have; none if they would have no
    /// sidecar.
    pub stale: BTreeMap<Stale<'a>, Option<String>>,
    /// Whether we restart what is stale, as the resource asks.
    pub restarts: Restarts,
}

/// Whether workloads are restarted for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restarts {
    /// Nobody asked for it.
    #[default]
    ByPeople,
    /// We do.
    ByUs,
    /// The resource asks for it, and the operator may not.
    NotPermitted,
}

/// What a person, or we, must make anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stale<'a> {
    /// A workload, restarted as a whole.
    Workload(ByName<'a>),
    /// A pod that nothing we know makes anew, by its name and uid.
    Pod(&'a str, &'a str),
}

/// A workload, in the order of kind and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByName<'a>(pub &'a Workload);

impl<'a> Tallies<'a> {
    /// Adds up pods.
    pub(super) fn of(
        namespace: &str,
        unwraps: &[Arc<ProxyUnwrap>],
        pods: &[Found<'a>],
        seen: &Seen<'a>,
    ) -> Self {
        let mut tallies = Self {
            by_origin: BTreeMap::new(),
            nobodys: Tally::default(),
        };
        for found in pods {
            let workload = workloads::of(found.pod, namespace, seen.world);
            let trouble = found.pod.metadata.uid.as_ref();
            let trouble = trouble.and_then(|uid| seen.troubles.get(uid));
            let tally = match &found.origin {
                Some(origin) => tallies.by_origin.entry(origin.clone()).or_default(),
                None => &mut tallies.nobodys,
            };
            tally.add(found, workload, trouble);
            tallies.add_losers(found, unwraps);
        }
        tallies
    }

    /// The tally of a resource, empty for one without pods.
    pub fn of_resource(&self, name: &str) -> Tally<'a> {
        let tally = self.by_origin.get(&Origin::Resource(name.to_owned()));
        tally.cloned().unwrap_or_default()
    }

    /// Tallies of annotated Services and pods.
    pub fn of_others(&self) -> impl Iterator<Item = (&Origin, &Tally<'a>)> {
        let all = self.by_origin.iter();
        all.filter(|(origin, _)| !matches!(origin, Origin::Resource(_)))
    }

    /// All pods together, each once.
    pub fn counts(&self) -> PodCounts {
        let mut all = PodCounts::default();
        for tally in self.by_origin.values().chain([&self.nobodys]) {
            let lost: u32 = tally.lost.values().sum();
            all.matched += tally.counts.matched - lost;
            all.injected += tally.counts.injected;
            all.outdated += tally.counts.outdated;
            all.failed += tally.counts.failed;
        }
        all
    }

    /// Resources that mean a pod which an older one has. A pod that picks its resource by name was
    /// given away on purpose: nobody lost it.
    fn add_losers(&mut self, found: &Found<'_>, unwraps: &[Arc<ProxyUnwrap>]) {
        let Some(Origin::Resource(winner)) = &found.origin else {
            return;
        };
        if found.pod.annotations().contains_key(UNWRAP) {
            return;
        }
        let meant_by = found.meant_by.iter();
        for loser in meant_by.filter_map(|place| unwraps.get(*place)) {
            let loser = loser.name_any();
            if &loser == winner {
                continue;
            }
            let tally = self.by_origin.entry(Origin::Resource(loser)).or_default();
            tally.counts.matched += 1;
            *tally.lost.entry(winner.clone()).or_default() += 1;
        }
    }
}

/// The annotation by which a pod picks its resource.
const UNWRAP: &str = "proxyunwrap.dev/unwrap";

impl<'a> Tally<'a> {
    fn add(&mut self, found: &Found<'a>, workload: Option<&'a Workload>, trouble: Option<&String>) {
        let name = || found.pod.name_any();
        self.counts.matched += u32::from(found.state != State::Plain);
        match &found.state {
            State::Plain => {}
            State::Current => self.counts.injected += 1,
            State::Outdated(renewal) => {
                self.counts.injected += 1;
                self.counts.outdated += 1;
                self.add_outdated(found.pod, workload, renewal);
            }
            State::Refused(refusal) => {
                self.counts.failed += 1;
                count(&mut self.refused, refusal);
            }
            State::Missed { hash, refused_then } => {
                self.counts.failed += 1;
                self.missed += 1;
                let then = self.refused_then.take();
                self.refused_then = then.or_else(|| refused_then.clone());
                self.add_stale(found.pod, workload, Some(hash));
            }
        }
        match (&found.push, trouble) {
            (Some(_), Some(said)) => {
                self.troubled.insert(name(), said.clone());
            }
            (Some(_), None) => self.pending += 1,
            (None, _) => {}
        }
    }

    fn add_outdated(&mut self, pod: &'a Pod, workload: Option<&'a Workload>, renewal: &Renewal) {
        match renewal {
            Renewal::Sidecar(hash) => self.add_stale(pod, workload, Some(hash)),
            Renewal::Nothing => {
                self.leftover += 1;
                self.add_stale(pod, workload, None);
            }
            // To make it anew would take its sidecar away, and something means it.
            Renewal::Refused(refusal) => count(&mut self.kept, refusal),
        }
    }

    fn add_stale(&mut self, pod: &'a Pod, workload: Option<&'a Workload>, hash: Option<&String>) {
        let meta = &pod.metadata;
        let stale = match (workload, &meta.name, &meta.uid) {
            (Some(workload), _, _) => Stale::Workload(ByName(workload)),
            (None, Some(name), Some(uid)) => Stale::Pod(name, uid),
            (None, _, _) => return,
        };
        let known = self.stale.entry(stale).or_default();
        *known = known.take().or_else(|| hash.cloned());
    }
}

fn count(by_reason: &mut BTreeMap<Reason, (u32, Refusal)>, refusal: &Refusal) {
    let said = by_reason.entry(refusal.reason);
    said.or_insert_with(|| (0, refusal.clone())).0 += 1;
}

impl Ord for ByName<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.kind, &self.0.name).cmp(&(other.0.kind, &other.0.name))
    }
}

impl PartialOrd for ByName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
