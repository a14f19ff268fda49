//! What is still to be written: the latest wish for each object, in order of urgency, at a limited
//! rate, again after a failure. Pure: time is handed in, nothing is sent here.
//!
//! - A new plan of a namespace replaces what waits of the old one.
//! - Two writes to one object are never under way together.
//! - A failure delays that object and no other.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::pace::Pace;
use super::{Write, Written};
use crate::controller::plan::Plan;

/// Writes to pods that may be under way together.
const PODS_AT_ONCE: usize = 16;
/// Other writes that may be under way together.
const OTHERS_AT_ONCE: usize = 8;
/// Other writes in a second: statuses and labels are few, and nobody waits for them.
const OTHERS_PER_SECOND: u32 = 50;
/// The first pause after a failure; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// After a write the watch needs a moment to tell. A plan that has not seen it would write again,
/// and a status that changes all the time is written once in this time.
const SETTLING: Duration = Duration::from_secs(1);
/// From so many failures on, people are told.
const TROUBLE: u32 = 3;

/// What is still to be written.
pub struct Outbox {
    waiting: BTreeMap<Key, Waiting>,
    flying: BTreeMap<Key, Flight>,
    settled: BTreeMap<Key, Settled>,
    pushing: BTreeMap<String, Pushing>,
    pods: Lane,
    others: Lane,
}

/// An object that is written to: in the order of namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace, or itself.
    pub namespace: String,
    object: Object,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Namespace,
    /// By its uid.
    Pod(String),
    /// By its uid.
    Unwrap(String),
}

struct Waiting {
    write: Write,
    since: Instant,
    not_before: Instant,
    failures: u32,
    error: Option<String>,
}

struct Flight {
    write: Write,
    /// Whether the latest plan still wants it: if not, a failure is not made good.
    wanted: bool,
    since: Instant,
    failures: u32,
    error: Option<String>,
}

struct Settled {
    write: Write,
    until: Instant,
}

/// A namespace whose pods are being given configuration.
struct Pushing {
    since: Instant,
    last: Option<Instant>,
}

struct Lane {
    pace: Pace,
    at_once: usize,
    flying: usize,
}

/// What a finished write means for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The last pod of the namespace has its configuration: since the change, so long.
    pub pushed: Option<Duration>,
    /// The object's trouble began or ended: its namespace's status says something else now.
    pub trouble_changed: bool,
}

impl Outbox {
    /// Nothing to write; pods at this rate.
    pub fn new(pods_per_second: u32) -> Self {
        Self {
            waiting: BTreeMap::new(),
            flying: BTreeMap::new(),
            settled: BTreeMap::new(),
            pushing: BTreeMap::new(),
            pods: Lane::new(pods_per_second, PODS_AT_ONCE),
            others: Lane::new(OTHERS_PER_SECOND, OTHERS_AT_ONCE),
        }
    }

    /// Takes a namespace's new plan, made because of a change that was noticed then.
    pub fn replace(
        &mut self,
        namespace: &str,
        plan: &mut Plan,
        noticed: Instant,
        now: Instant,
    ) -> Finished {
        let mut before = self.take_waiting(namespace);
        for (key, write) in writes(namespace, plan) {
            if self.is_flying(&key, &write) {
                continue;
            }
            if matches!(write, Write::Push(_)) {
                let pushing = self.pushing.entry(key.namespace.clone());
                pushing.or_insert(Pushing {
                    since: noticed,
                    last: None,
                });
            }
            let waiting = match before.remove(&key) {
                Some(waiting) if waiting.holds(&write) => Waiting { write, ..waiting },
                Some(_) | None => self.fresh(&key, write, noticed, now),
            };
            self.waiting.insert(key, waiting);
        }
        self.settled.retain(|_, settled| now < settled.until);
        Finished {
            pushed: self.end_of_push(namespace),
            trouble_changed: false,
        }
    }

    /// The next write that may go; it is under way until [`Outbox::finish`].
    pub fn next(&mut self, now: Instant) -> Option<(Key, Write)> {
        let ready = self.waiting.iter().filter(|(key, waiting)| {
            let lane = self.lane(&waiting.write);
            waiting.not_before <= now && lane.is_free(now) && !self.flying.contains_key(*key)
        });
        let first = ready.min_by_key(|(_, waiting)| (waiting.rank(), waiting.since));
        let key = first.map(|(key, _)| key.clone())?;
        let waiting = self.waiting.remove(&key)?;
        self.lane_mut(&waiting.write).take(now);
        let write = waiting.write.clone();
        self.flying.insert(key.clone(), waiting.into());
        Some((key, write))
    }

    /// When there may be something to send; none while only an end of a write can change that.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter();
        let sendable = waiting.filter(|(key, _)| !self.flying.contains_key(*key));
        let due = sendable.filter_map(|(_, waiting)| {
            let lane = self.lane(&waiting.write);
            let has_place = lane.flying < lane.at_once;
            has_place.then(|| waiting.not_before.max(lane.pace.due(now)))
        });
        due.min()
    }

    /// A write came to its end.
    pub fn finish(&mut self, key: &Key, came: Result<Written, String>, now: Instant) -> Finished {
        let Some(flight) = self.flying.remove(key) else {
            return Finished::default();
        };
        self.lane_mut(&flight.write).flying -= 1;
        let trouble_changed = match came {
            Ok(written) => {
                let had_trouble = flight.failures >= TROUBLE;
                self.settle(key, flight, written, now);
                had_trouble
            }
            Err(error) => {
                let has_trouble = flight.failures + 1 == TROUBLE;
                self.retry(key, flight, error, now);
                has_trouble
            }
        };
        Finished {
            pushed: self.end_of_push(&key.namespace),
            trouble_changed,
        }
    }

    /// What the API server says again and again about pods of a namespace, by their uid.
    pub fn troubles(&self, namespace: &str) -> BTreeMap<String, String> {
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|(key, one)| (key, one.failures, &one.error));
        let flying = self.flying.iter();
        let flying = flying.map(|(key, one)| (key, one.failures, &one.error));
        waiting
            .chain(flying)
            .filter(|(key, failures, _)| key.namespace == namespace && *failures >= TROUBLE)
            .filter_map(|(key, _, error)| match (&key.object, error) {
                (Object::Pod(uid), Some(error)) => Some((uid.clone(), error.clone())),
                _ => None,
            })
            .collect()
    }

    /// Whether this very write is under way; what else is under way there is no longer wanted.
    fn is_flying(&mut self, key: &Key, write: &Write) -> bool {
        let Some(flight) = self.flying.get_mut(key) else {
            return false;
        };
        flight.wanted = says_the_same(&flight.write, write);
        flight.wanted
    }

    fn take_waiting(&mut self, namespace: &str) -> BTreeMap<Key, Waiting> {
        let (here, others) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(key, _)| key.namespace == namespace);
        self.waiting = others;
        let flying = self.flying.iter_mut();
        for (_, flight) in flying.filter(|(key, _)| key.namespace == namespace) {
            flight.wanted = false;
        }
        here
    }

    fn fresh(&self, key: &Key, write: Write, since: Instant, now: Instant) -> Waiting {
        let settled = self.settled.get(key);
        let not_before = settled.map_or(now, |settled| settled.delays(&write, now));
        let flight = self.flying.get(key);
        Waiting {
            write,
            since,
            not_before,
            failures: flight.map_or(0, |flight| flight.failures),
            error: flight.and_then(|flight| flight.error.clone()),
        }
    }

    fn settle(&mut self, key: &Key, flight: Flight, written: Written, now: Instant) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.failures = 0;
            waiting.error = None;
        }
        if written == Written::Done {
            let settled = Settled {
                write: flight.write,
                until: now + SETTLING,
            };
            if let Some(waiting) = self.waiting.get_mut(key) {
                waiting.not_before = settled.delays(&waiting.write, now);
            }
            self.settled.insert(key.clone(), settled);
        }
        if let Some(pushing) = self.pushing.get_mut(&key.namespace) {
            let is_pod = matches!(key.object, Object::Pod(_));
            pushing.last = if is_pod { Some(now) } else { pushing.last };
        }
    }

    /// What waits for the object is newer, if something does, and has to wait as long.
    fn retry(&mut self, key: &Key, flight: Flight, error: String, now: Instant) {
        let failures = flight.failures + 1;
        if !flight.wanted && !self.waiting.contains_key(key) {
            return;
        }
        let waiting = self.waiting.entry(key.clone()).or_insert(Waiting {
            write: flight.write,
            since: flight.since,
            not_before: now,
            failures,
            error: None,
        });
        waiting.not_before = now + pause(failures);
        waiting.failures = failures;
        waiting.error = Some(error);
    }

    /// How long it took until the last pod of a namespace had its configuration, once that is so.
    fn end_of_push(&mut self, namespace: &str) -> Option<Duration> {
        let is_push =
            |key: &Key| key.namespace == namespace && matches!(key.object, Object::Pod(_));
        if self.waiting.keys().any(is_push) || self.flying.keys().any(is_push) {
            return None;
        }
        let pushing = self.pushing.remove(namespace)?;
        pushing.last.map(|last| last - pushing.since)
    }

    fn lane(&self, write: &Write) -> &Lane {
        match write {
            Write::Push(_) => &self.pods,
            Write::Answer(_) | Write::Label(_) => &self.others,
        }
    }

    fn lane_mut(&mut self, write: &Write) -> &mut Lane {
        match write {
            Write::Push(_) => &mut self.pods,
            Write::Answer(_) | Write::Label(_) => &mut self.others,
        }
    }
}

impl Waiting {
    /// Whether a write takes over the place: it is the same, or the object is in trouble.
    fn holds(&self, write: &Write) -> bool {
        self.failures > 0 || says_the_same(&self.write, write)
    }

    /// Pods that trust others now go first: until then a new balancer's connections are refused,
    /// or a former one's are believed.
    fn rank(&self) -> u8 {
        match &self.write {
            Write::Push(push) => u8::from(!push.urgent),
            Write::Label(_) => 0,
            Write::Answer(_) => 1,
        }
    }
}

impl From<Waiting> for Flight {
    fn from(waiting: Waiting) -> Self {
        Self {
            write: waiting.write,
            wanted: true,
            since: waiting.since,
            failures: waiting.failures,
            error: waiting.error,
        }
    }
}

impl Settled {
    /// Until when a write waits for the watch to tell of the one before.
    fn delays(&self, write: &Write, now: Instant) -> Instant {
        match write {
            Write::Answer(_) => self.until,
            Write::Push(_) | Write::Label(_) if self.write == *write => self.until,
            Write::Push(_) | Write::Label(_) => now,
        }
    }
}

impl Lane {
    fn new(per_second: u32, at_once: usize) -> Self {
        Self {
            pace: Pace::per_second(per_second),
            at_once,
            flying: 0,
        }
    }

    fn is_free(&self, now: Instant) -> bool {
        self.flying < self.at_once && self.pace.due(now) <= now
    }

    fn take(&mut self, now: Instant) {
        self.flying += 1;
        self.pace.take(now);
    }
}

fn pause(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

/// Two statuses that differ in times only say the same.
fn says_the_same(one: &Write, other: &Write) -> bool {
    let (Write::Answer(one), Write::Answer(other)) = (one, other) else {
        return one == other;
    };
    let mut other = other.clone();
    let conditions = other.status.conditions.iter_mut();
    for (condition, one) in conditions.zip(&one.status.conditions) {
        condition.last_transition_time = one.last_transition_time.clone();
    }
    *one == other
}

/// What a plan writes, object by object.
fn writes(namespace: &str, plan: &mut Plan) -> Vec<(Key, Write)> {
    let key = |object| Key {
        namespace: namespace.to_owned(),
        object,
    };
    let pushes = std::mem::take(&mut plan.pushes).into_iter();
    let pushes = pushes.map(|push| (key(Object::Pod(push.uid.clone())), Write::Push(push)));
    let answers = std::mem::take(&mut plan.answers).into_iter();
    let answers = answers.map(|answer| {
        (
            key(Object::Unwrap(answer.uid.clone())),
            Write::Answer(answer),
        )
    });
    let label = plan.label.take();
    let label = label.map(|label| (key(Object::Namespace), Write::Label(label)));
    pushes.chain(answers).chain(label).collect()
}

#[cfg(test)]
mod tests;
