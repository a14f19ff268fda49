//! Which notices are told: not the same one again and again, and not too many.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{Kind, Notice};

/// A sentence about an object is repeated after so long at the earliest.
const AGAIN: Duration = Duration::from_secs(600);

/// Sentences that are remembered; beyond it the oldest is forgotten, and may be repeated.
const REMEMBERED: usize = 4096;

/// Events that may come at once …
const BURST: f64 = 50.0;

/// … and each second after that.
const PER_SECOND: f64 = 5.0;

/// Whether a notice is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Tell,
    Repeated,
    TooMany,
}

/// What was told, and how much more may be.
#[derive(Default)]
pub(super) struct Throttle {
    told: BTreeMap<Key, Instant>,
    /// Places that were used, and when that was so.
    used: f64,
    at: Option<Instant>,
}

/// Namespace, name, uid, kind, sentence.
type Key = (String, String, String, Kind, String);

impl Throttle {
    pub(super) fn ask(&mut self, notice: &Notice, now: Instant) -> Verdict {
        let key = key(notice);
        let last = self.told.get(&key);
        if last.is_some_and(|last| now.duration_since(*last) < AGAIN) {
            return Verdict::Repeated;
        }
        let idle = self.at.map_or(Duration::ZERO, |at| now.duration_since(at));
        self.used = (self.used - idle.as_secs_f64() * PER_SECOND).max(0.0);
        self.at = Some(now);
        if self.used + 1.0 > BURST {
            return Verdict::TooMany;
        }
        self.used += 1.0;
        self.remember(key, now);
        Verdict::Tell
    }

    fn remember(&mut self, key: Key, now: Instant) {
        if self.told.len() >= REMEMBERED {
            self.told
                .retain(|_, told| now.duration_since(*told) < AGAIN);
        }
        if self.told.len() >= REMEMBERED {
            let oldest = self.told.iter().min_by_key(|(_, told)| **told);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.told.remove(&oldest);
            }
        }
        self.told.insert(key, now);
    }
}

fn key(notice: &Notice) -> Key {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let object = &notice.regarding;
    (
        text(&object.namespace),
        text(&object.name),
        text(&object.uid),
        notice.kind,
        notice.message.clone(),
    )
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;

    fn notice(name: usize) -> Notice {
        Notice {
            kind: Kind::InjectionRefused,
            regarding: ObjectReference {
                name: Some(format!("web-{name}")),
                ..ObjectReference::default()
            },
            message: "HostNetwork".to_owned(),
        }
    }

    #[test]
    fn the_same_sentence_about_an_object_is_told_once_in_a_while() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let other = Notice {
            message: "StaticPod".to_owned(),
            ..notice(1)
        };
        assert_eq!(throttle.ask(&notice(1), now), Verdict::Tell);
        assert_eq!(throttle.ask(&notice(1), now), Verdict::Repeated);
        assert_eq!(throttle.ask(&other, now), Verdict::Tell);
        assert_eq!(throttle.ask(&notice(2), now), Verdict::Tell);
        assert_eq!(throttle.ask(&notice(1), now + AGAIN), Verdict::Tell);
    }

    #[test]
    fn a_flood_is_cut_to_a_burst_and_a_rate() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let told = |throttle: &mut Throttle, from: usize, now| {
            let asked = (from..from + 1000).map(|name| throttle.ask(&notice(name), now));
            asked.filter(|verdict| *verdict == Verdict::Tell).count()
        };
        assert_eq!(told(&mut throttle, 0, now), 50);
        assert_eq!(told(&mut throttle, 1000, now + Duration::from_secs(2)), 10);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut throttle = Throttle::default();
        let mut now = Instant::now();
        for name in 0..REMEMBERED + 10 {
            now += Duration::from_millis(1);
            throttle.remember(key(&notice(name)), now);
        }
        assert_eq!(throttle.told.len(), REMEMBERED);
        assert!(!throttle.told.contains_key(&key(&notice(0))));
    }
}
