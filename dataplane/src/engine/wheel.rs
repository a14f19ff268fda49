//! Deadlines of many connections, without a heap entry each.
//!
//! A wheel of slots, each a list of keys. Cancelling is lazy: a key that comes up is asked for its
//! deadline of now, and goes back when that has moved. So a connection has at most a few keys here,
//! and moving a deadline costs nothing.

use crate::connection::Tick;

/// Milliseconds a slot stands for: how late a deadline may be noticed.
const SLOT: Tick = 32;

/// Slots of the wheel; deadlines beyond its turn (about 33 s) come up once a turn and go back.
const SLOTS: u64 = 1024;

/// Keys by the time they come up.
#[derive(Debug)]
pub(super) struct Wheel<K> {
    slots: Vec<Vec<K>>,
    /// Every slot before this one has been emptied.
    next: u64,
    /// Keys in all slots.
    len: usize,
}

impl<K> Wheel<K> {
    /// An empty wheel that starts at `now`.
    pub(super) fn new(now: Tick) -> Self {
        let slots = (0..SLOTS).map(|_| Vec::new()).collect();
        Self {
            slots,
            next: now / SLOT,
            len: 0,
        }
    }

    /// `key` comes up at `deadline`, or at the wheel's horizon if that is sooner.
    pub(super) fn insert(&mut self, key: K, deadline: Tick) {
        let slot = (deadline / SLOT + 1).clamp(self.next, self.next + SLOTS - 1);
        self.slots[place(slot)].push(key);
        self.len += 1;
    }

    /// Milliseconds until there may be something to take; None when the wheel is empty.
    pub(super) fn wait(&self, now: Tick) -> Option<Tick> {
        if self.len == 0 {
            return None;
        }
        let slot = (self.next..self.next + SLOTS).find(|slot| !self.slots[place(*slot)].is_empty());
        slot.map(|slot| (slot * SLOT).saturating_sub(now).max(1))
    }

    /// Takes every key whose slot has passed. The caller puts back those whose deadline has moved.
    pub(super) fn take(&mut self, now: Tick, due: &mut Vec<K>) {
        let end = now / SLOT + 1;
        let last = end.min(self.next + SLOTS);
        for slot in self.next..last {
            due.append(&mut self.slots[place(slot)]);
        }
        self.next = self.next.max(end);
        self.len -= due.len().min(self.len);
    }
}

fn place(slot: u64) -> usize {
    usize::try_from(slot % SLOTS).expect("a remainder of 1024 fits any usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(wheel: &mut Wheel<u32>, now: Tick) -> Vec<u32> {
        let mut due = Vec::new();
        wheel.take(now, &mut due);
        due
    }

    #[test]
    fn a_key_never_comes_up_early_and_at_most_two_slots_late() {
        for deadline in [0, 1, 31, 32, 33, 5_000, 30_000] {
            let mut wheel = Wheel::new(0);
            wheel.insert(7, deadline);
            if deadline > 0 {
                assert!(due(&mut wheel, deadline - 1).is_empty(), "{deadline}");
            }
            assert_eq!(due(&mut wheel, deadline + 2 * SLOT), [7], "{deadline}");
        }
    }

    #[test]
    fn an_empty_wheel_waits_for_nothing() {
        let mut wheel = Wheel::new(100);
        assert_eq!(wheel.wait(100), None);
        wheel.insert(1, 1_000);
        let wait = wheel.wait(100).unwrap();
        assert!((900..=964).contains(&wait), "{wait}");
        due(&mut wheel, 2_000);
        assert_eq!(wheel.wait(2_000), None);
    }

    #[test]
    fn a_far_deadline_comes_up_within_a_turn() {
        let mut wheel = Wheel::new(0);
        wheel.insert(1, 3_600_000);
        assert_eq!(due(&mut wheel, SLOT * SLOTS), [1]);
    }

    #[test]
    fn a_clock_that_jumps_a_whole_turn_loses_no_key() {
        let mut wheel = Wheel::new(0);
        (0..100).for_each(|key| wheel.insert(key, Tick::from(key) * 300));
        assert_eq!(due(&mut wheel, 10 * SLOT * SLOTS).len(), 100);
        wheel.insert(1, 10 * SLOT * SLOTS + 50);
        assert_eq!(due(&mut wheel, 10 * SLOT * SLOTS + 200), [1]);
    }
}
