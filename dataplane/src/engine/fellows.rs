//! The workers beside one: few long connections are not to meet on one processor.
//!
//! The kernel chooses a worker's listener by a hash of the addresses, which is even for many connections and
//! may put four out of four on one worker. So a worker that has twice as many as another one, and two
//! more, hands a newcomer on. With many connections that hardly ever happens, and short ones are gone too
//! soon to count.

use std::io;
use std::sync::Arc;

use super::mailbox::Mailbox;
use crate::counters::Counters;

/// What others know of a worker.
#[derive(Clone)]
pub(super) struct Fellow {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) counters: Arc<Counters>,
}

impl Fellow {
    /// One that has not started.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            mailbox: Arc::new(Mailbox::new()?),
            counters: Arc::default(),
        })
    }
}

/// The other workers of one that takes connections.
pub(super) struct Fellows {
    others: Vec<Fellow>,
    /// Who is looked at next.
    next: usize,
}

impl Fellows {
    /// All but the one with this index.
    pub(super) fn of(all: &[Fellow], index: usize) -> Self {
        let others = all.iter().enumerate().filter(|(at, _)| *at != index);
        Self {
            others: others.map(|(_, fellow)| fellow.clone()).collect(),
            next: index,
        }
    }

    /// Who is to take a newcomer instead of one that has `own` connections. One fellow is looked at each
    /// time, in turn, whatever their number; what it has may have changed by now, it is a hint.
    pub(super) fn instead(&mut self, own: usize) -> Option<&Mailbox> {
        let turn = self.next.checked_rem(self.others.len())?;
        self.next = turn + 1;
        let Fellow { mailbox, counters } = &self.others[turn];
        let open = counters.open.get();
        let is_uneven = |on_their_way: usize| is_uneven(own as u64, open + on_their_way as u64);
        // The lock comes last: mostly there is no need for it.
        (is_uneven(0) && is_uneven(mailbox.unread())).then_some(&**mailbox)
    }
}

fn is_uneven(own: u64, least: u64) -> bool {
    own >= least + 2 && own >= 2 * least
}

#[cfg(test)]
mod tests {
    use super::is_uneven;

    #[test]
    fn a_newcomer_goes_where_few_are_though_all_come_to_one() {
        let (mut own, mut other) = (0, 0);
        for _ in 0..12 {
            match is_uneven(own, other) {
                true => other += 1,
                false => own += 1,
            }
        }
        assert_eq!((own, other), (8, 4));
    }

    #[test]
    fn one_after_the_other_and_the_evenness_of_many_are_left_alone() {
        assert!(!is_uneven(0, 0) && !is_uneven(1, 0) && !is_uneven(3, 2));
        assert!(!is_uneven(600, 400));
    }
}
