//! Which namespaces to look at, and when. Pure: changes and time are handed in.
//!
//! Changes of a tenth of a second are looked at together. Looking takes at most a fifth of the time:
//! in a cluster where something changes all the time, every look sees more changes instead.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::watch::{Changes, Unreadable};
use crate::world::World;

/// Changes of this time are looked at together.
const GATHER: Duration = Duration::from_millis(100);
/// After a look comes a pause of so many times its length.
const PAUSE: u32 = 4;
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Namespaces that have changed since they were looked at, and when that was noticed.
#[derive(Debug, Default)]
pub struct Changed {
    namespaces: BTreeMap<String, Instant>,
    everything: Option<Instant>,
    not_before: Option<Instant>,
}

impl Changed {
    /// Everything is to be looked at.
    pub fn everything(now: Instant) -> Self {
        Self {
            everything: Some(now),
            ..Self::default()
        }
    }

    /// Something changed.
    pub fn mark(&mut self, changes: Changes, now: Instant) {
        if changes.everything {
            self.everything.get_or_insert(now);
        }
        for namespace in changes.namespaces {
            self.namespaces.entry(namespace).or_insert(now);
        }
    }

    /// When to look; none while nothing changed.
    pub fn due(&self) -> Option<Instant> {
        let first = self.namespaces.values().chain(&self.everything).min()?;
        let due = *first + GATHER;
        Some(
            self.not_before
                .map_or(due, |not_before| due.max(not_before)),
        )
    }

    /// Which namespaces to look at, with the time at which the change was noticed.
    pub fn take(&mut self, world: &World, unreadable: &[Unreadable]) -> BTreeMap<String, Instant> {
        let mut taken = std::mem::take(&mut self.namespaces);
        if let Some(noticed) = self.everything.take() {
            for namespace in every_namespace(world, unreadable) {
                taken.entry(namespace).or_insert(noticed);
            }
        }
        taken
    }

    /// A look took from then until now.
    pub fn looked(&mut self, from: Instant, now: Instant) {
        let pause = (now - from).saturating_mul(PAUSE).min(LONGEST_PAUSE);
        self.not_before = Some(now + pause);
    }
}

fn every_namespace(world: &World, unreadable: &[Unreadable]) -> BTreeSet<String> {
    let broken = unreadable.iter().map(|one| &one.namespace);
    let namespaces = world.namespaces.keys();
    let all = namespaces.chain(world.pods.keys());
    let all = all.chain(world.unwraps.keys()).chain(broken);
    all.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn changes_are_gathered_for_a_tenth_of_a_second_from_the_first() {
        let start = Instant::now();
        let mut changed = Changed::default();
        assert_eq!(changed.due(), None);
        changed.mark(of("shop"), start);
        changed.mark(of("bank"), start + 60 * MS);
        changed.mark(of("shop"), start + 90 * MS);
        assert_eq!(changed.due(), Some(start + 100 * MS));
        let taken = changed.take(&World::default(), &[]);
        let want = [
            ("bank".to_owned(), start + 60 * MS),
            ("shop".to_owned(), start),
        ];
        assert_eq!(taken, want.into());
        assert_eq!(changed.due(), None);
    }

    #[test]
    fn a_long_look_is_followed_by_a_longer_pause() {
        let start = Instant::now();
        let mut changed = Changed::default();
        changed.looked(start, start + 200 * MS);
        changed.mark(of("shop"), start + 250 * MS);
        assert_eq!(changed.due(), Some(start + 1000 * MS));
        changed.looked(start, start + 60_000 * MS);
        assert_eq!(changed.due(), Some(start + 62_000 * MS));
    }

    #[test]
    fn everything_is_every_namespace_with_anything_in_it() {
        let start = Instant::now();
        let mut changed = Changed::everything(start);
        let mut world = World::default();
        world.pods.insert("shop".to_owned(), Vec::new());
        world.unwraps.insert("bank".to_owned(), Vec::new());
        let broken = Unreadable {
            namespace: "attic".to_owned(),
            name: "old".to_owned(),
            uid: String::new(),
            generation: None,
            error: String::new(),
        };
        let taken = changed.take(&world, &[broken]);
        assert_eq!(taken.keys().collect::<Vec<_>>(), ["attic", "bank", "shop"]);
    }

    fn of(namespace: &str) -> Changes {
        Changes {
            namespaces: [namespace.to_owned()].into(),
            ..Changes::default()
        }
    }
}
