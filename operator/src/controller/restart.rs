//! Restarts workloads for resources that ask for it: one at a time per resource, the next one when
//! the last is available again and the interval has passed. Pure: time is handed in.
//!
//! - A workload in the middle of a rollout is left alone.
//! - One whose pods are as before after a restart is not restarted again soon: the pause doubles.
//! - What is remembered is lost with the lead. The next leader waits for one interval, and reads
//!   from the workload itself what is under way.

mod rollout;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

pub use self::rollout::{Came, Error};
use super::plan::Restart;
use crate::world::Workload;

/// How often a workload that was restarted is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// For how long a workload in the middle of a rollout, or after a failure, is passed over.
const PASSED_OVER: Duration = Duration::from_secs(30);
/// A workload whose pods are as before is restarted again after this time; it doubles.
const AGAIN_AFTER: Duration = Duration::from_secs(600);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Who is to be restarted, and who was.
pub struct Restarts {
    /// The lead began.
    began: Instant,
    /// By namespace and name of the resource.
    turns: BTreeMap<(String, String), Turn>,
    /// By uid of the workload.
    asked: BTreeMap<String, Asked>,
}

/// A resource's place: one workload after the other.
struct Turn {
    interval: Duration,
    workloads: Vec<(Workload, String)>,
    awaited: Option<Workload>,
    last: Option<Instant>,
    look_at: Option<Instant>,
    busy: bool,
}

/// A workload that was restarted, or passed over.
struct Asked {
    hash: String,
    times: u32,
    again: Instant,
}

/// One thing to do with one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The resource that asked for it.
    pub unwrap: String,
    /// Its namespace.
    pub namespace: String,
    /// The workload.
    pub workload: Workload,
    /// Hash of the sidecar that new pods would have; none if the workload is only looked at.
    pub restart_for: Option<String>,
}

impl Restarts {
    /// Nobody yet.
    pub fn new(now: Instant) -> Self {
        Self {
            began: now,
            turns: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Takes what a namespace's new plan wants.
    pub fn replace(&mut self, namespace: &str, wanted: Vec<Restart>, now: Instant) {
        for (key, turn) in &mut self.turns {
            if key.0 == namespace {
                turn.workloads.clear();
            }
        }
        for restart in wanted {
            let key = (restart.namespace, restart.unwrap);
            let turn = self
                .turns
                .entry(key)
                .or_insert_with(|| Turn::new(self.began));
            turn.interval = restart.interval;
            turn.workloads = restart.workloads;
        }
        self.turns.retain(|_, turn| turn.is_kept(now));
    }

    /// The next thing to do; its turn is taken until [`Restarts::finish`].
    pub fn next(&mut self, now: Instant) -> Option<Job> {
        let asked = &self.asked;
        let mut turns = self.turns.iter_mut();
        let (key, turn, (workload, restart_for)) = turns.find_map(|(key, turn)| {
            let (due, job) = turn.due(asked)?;
            (due <= now).then_some((key, turn, job))
        })?;
        turn.busy = true;
        Some(Job {
            namespace: key.0.clone(),
            unwrap: key.1.clone(),
            workload,
            restart_for,
        })
    }

    /// When there may be something to do.
    pub fn wake(&self) -> Option<Instant> {
        let turns = self.turns.values();
        turns
            .filter_map(|turn| Some(turn.due(&self.asked)?.0))
            .min()
    }

    /// Something was done; none if it failed.
    pub fn finish(&mut self, job: &Job, came: Option<Came>, now: Instant) {
        let key = (job.namespace.clone(), job.unwrap.clone());
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        turn.busy = false;
        match came {
            Some(Came::Restarted) => {
                turn.last = Some(now);
                turn.wait_for(&job.workload, now);
                self.remember(job, now);
            }
            Some(Came::RollingOut { ours: true }) => turn.wait_for(&job.workload, now),
            Some(Came::Available | Came::Gone) => turn.awaited = None,
            Some(Came::RollingOut { ours: false }) | None if turn.awaited.is_some() => {
                turn.look_at = Some(now + LOOK_EVERY);
            }
            Some(Came::RollingOut { ours: false } | Came::NotRestartable) | None => {
                self.pass_over(job, now);
            }
        }
    }

    fn remember(&mut self, job: &Job, now: Instant) {
        let Some(hash) = &job.restart_for else {
            return;
        };
        let before = self.asked.remove(&job.workload.uid);
        let times = before.filter(|before| before.hash == *hash);
        let times = times.map_or(0, |before| before.times);
        let pause = AGAIN_AFTER.saturating_mul(2_u32.saturating_pow(times));
        let asked = Asked {
            hash: hash.clone(),
            times: times + 1,
            again: now + pause.min(LONGEST_PAUSE),
        };
        self.asked.insert(job.workload.uid.clone(), asked);
    }

    /// For a moment; what is remembered of restarts for this hash stays.
    fn pass_over(&mut self, job: &Job, now: Instant) {
        let hash = job.restart_for.clone().unwrap_or_default();
        let before = self.asked.remove(&job.workload.uid);
        let times = before.filter(|before| before.hash == hash);
        let asked = Asked {
            times: times.map_or(0, |before| before.times),
            again: now + PASSED_OVER,
            hash,
        };
        self.asked.insert(job.workload.uid.clone(), asked);
    }
}

impl Turn {
    fn new(began: Instant) -> Self {
        Self {
            interval: Duration::ZERO,
            workloads: Vec::new(),
            awaited: None,
            last: Some(began),
            look_at: None,
            busy: false,
        }
    }

    /// A turn ends when nothing is wanted, nothing is awaited, and the interval has passed.
    fn is_kept(&self, now: Instant) -> bool {
        let resting = self.last.is_some_and(|last| now < last + self.interval);
        !self.workloads.is_empty() || self.awaited.is_some() || self.busy || resting
    }

    fn wait_for(&mut self, workload: &Workload, now: Instant) {
        self.awaited = Some(workload.clone());
        self.look_at = Some(now + LOOK_EVERY);
    }

    /// What is next and when; a workload that was asked lately is passed over.
    fn due(
        &self,
        asked: &BTreeMap<String, Asked>,
    ) -> Option<(Instant, (Workload, Option<String>))> {
        if self.busy {
            return None;
        }
        let after = self.last? + self.interval;
        if let Some(awaited) = &self.awaited {
            let look_at = self.look_at.unwrap_or(after);
            return Some((look_at, (awaited.clone(), None)));
        }
        let due = |workload: &Workload, hash: &String| {
            let asked = asked.get(&workload.uid);
            let asked = asked.filter(|asked| asked.hash == *hash);
            asked.map_or(after, |asked| after.max(asked.again))
        };
        let due = self
            .workloads
            .iter()
            .map(|(workload, hash)| (due(workload, hash), (workload.clone(), Some(hash.clone()))));
        due.min_by_key(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests;
