//! How one direction is carried: how much is read at once, and whether by copying or by splicing.
//!
//! Small messages are copied through the worker's buffer. A direction whose reads bring much, again
//! and again, moves page references through a pipe instead, and goes back when they bring little.
//! Pure; the figures are measured (see "Copy and splice" in ARCHITECTURE.md).

/// Bytes of a read by copying. A direction whose sink took all of it doubles, one that was refused
/// returns: so what a slow reader makes us hold stays small (see "Memory" in ARCHITECTURE.md).
pub(super) const READ_MIN: usize = 16 << 10;
const READ_MAX: usize = 64 << 10;

/// Bytes that a read brings on average before pipes are worth it, and below which they are not: messages
/// of 8 KiB are faster copied, of 16 KiB spliced.
const BULK_FROM: u32 = 12 << 10;
const BULK_TO: u32 = 8 << 10;

/// A read counts as an eighth of the average.
const WEIGHT: u32 = 8;

/// Which way bytes take through us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Relay {
    /// Copied while messages are small, spliced while there is much.
    #[default]
    Auto,
    /// Copied, always.
    Copy,
    /// Spliced, always.
    Splice,
    /// One or the other by chance, which finds what switching breaks.
    #[value(hide = true)]
    Shuffle,
}

/// The pace of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    size: u32,
    average: u32,
    is_bulk: bool,
}

impl Pace {
    /// A direction of which nothing is known.
    pub(super) fn new() -> Self {
        Self {
            size: READ_MIN as u32,
            average: 0,
            is_bulk: false,
        }
    }

    /// Bytes to ask for, by copying.
    pub(super) fn read_size(&self) -> usize {
        self.size as usize
    }

    /// Whether the next read is to be spliced.
    pub(super) fn splices(&mut self, relay: Relay) -> bool {
        match relay {
            Relay::Auto => self.is_bulk,
            Relay::Copy => false,
            Relay::Splice => true,
            Relay::Shuffle => {
                // Xorshift: a chance that needs no state but what is here.
                self.average = self.average.max(1);
                self.average ^= self.average << 13;
                self.average ^= self.average >> 17;
                self.average ^= self.average << 5;
                self.average & 1 == 1
            }
        }
    }

    /// A read brought `n` bytes.
    pub(super) fn took(&mut self, n: usize, relay: Relay) {
        if relay == Relay::Shuffle {
            return;
        }
        let n = u32::try_from(n).unwrap_or(u32::MAX).min(1 << 20);
        self.average = self.average - self.average / WEIGHT + n / WEIGHT;
        self.is_bulk = match self.is_bulk {
            true => self.average >= BULK_TO,
            false => self.average >= BULK_FROM,
        };
    }

    /// The sink took all of a read of `n` bytes.
    pub(super) fn kept_up(&mut self, n: usize) {
        if n == self.read_size() {
            self.size = (self.size * 2).min(READ_MAX as u32);
        }
    }

    /// The sink did not take all.
    pub(super) fn refused(&mut self) {
        self.size = READ_MIN as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(reads: impl IntoIterator<Item = usize>) -> Pace {
        let mut pace = Pace::new();
        for n in reads {
            pace.took(n, Relay::Auto);
        }
        pace
    }

    #[test]
    fn small_messages_are_copied_and_bulk_is_spliced_until_it_is_small_again() {
        let mut small = after([6; 1000]);
        assert!(!small.splices(Relay::Auto));
        let mut bulk = after([64 << 10; 8]);
        assert!(bulk.splices(Relay::Auto));
        (0..32).for_each(|_| bulk.took(1_000, Relay::Auto));
        assert!(!bulk.splices(Relay::Auto));
    }

    #[test]
    fn one_large_message_is_no_bulk() {
        let mut pace = after([6, 6, 64 << 10, 6]);
        assert!(!pace.splices(Relay::Auto));
    }

    #[test]
    fn shuffling_does_both() {
        let mut pace = Pace::new();
        let spliced = (0..1000).filter(|_| pace.splices(Relay::Shuffle)).count();
        assert!((300..700).contains(&spliced), "{spliced}");
    }

    #[test]
    fn reads_grow_while_the_sink_keeps_up() {
        let mut pace = Pace::new();
        pace.kept_up(6);
        assert_eq!(pace.read_size(), READ_MIN);
        pace.kept_up(READ_MIN);
        pace.kept_up(READ_MIN * 2);
        pace.kept_up(READ_MAX);
        assert_eq!(pace.read_size(), READ_MAX);
        pace.refused();
        assert_eq!(pace.read_size(), READ_MIN);
    }
}
