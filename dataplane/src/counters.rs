//! What one worker counts, in cells that only it writes.
//!
//! A cell is read by whoever scrapes and written by one thread, so an increment is a plain load and
//! store: no locked instruction, no cache line that two workers write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proxyunwrap_header::{Invalid, Version};

use crate::connection::Way;
use crate::connection::claim::Refusal;
use crate::connection::ladder::Step;
use crate::connection::outcome::{DialError, HeaderError, Outcome};

/// Upper bounds of the buckets of `connect_seconds`, in microseconds.
pub const CONNECT_BUCKETS: [u64; 10] = [
    50, 100, 250, 500, 1_000, 5_000, 25_000, 100_000, 1_000_000, 5_000_000,
];

/// Labels of `version`.
pub const VERSIONS: [&str; 3] = ["v1", "v2", "none"];

const HEADER_ERRORS: usize = Invalid::ALL.len() + HeaderError::OURS.len();

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub struct Cell(AtomicU64);

impl Cell {
    /// Adds; only the owning worker may.
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    /// Sets a gauge; only the owning worker may.
    pub fn set(&self, n: usize) {
        self.0.store(n as u64, Ordering::Relaxed);
    }

    /// Reads.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a worker stopped accepting for a while. A closed set: the `reason` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// At the limit of open connections.
    Limit,
    /// No descriptor or no memory was left (EMFILE, ENFILE, ENOBUFS, ENOMEM).
    Exhausted,
}

impl Pause {
    /// Labels in the order of the cells.
    pub const LABELS: [&'static str; 2] = ["limit", "exhausted"];
}

/// Everything one worker counts.
#[derive(Debug)]
pub struct Counters {
    /// Ended connections by version and outcome.
    pub connections: [[Cell; Outcome::LABELS.len()]; VERSIONS.len()],
    /// In the order of [`HeaderError::all`].
    pub header_errors: [Cell; HEADER_ERRORS],
    /// In the order of [`Refusal::ALL`].
    pub refused_clients: [Cell; Refusal::ALL.len()],
    /// In the order of [`DialError::ALL`].
    pub dial_errors: [Cell; DialError::ALL.len()],
    /// Reached apps, in the order of [`Step::ALL`].
    pub dials: [Cell; Step::ALL.len()],
    /// Dials of IPv4 clients to an app that is configured with an IPv6 address only.
    pub mapped_dials: Cell,
    /// Connections that were handed to a worker with fewer.
    pub handed_over: Cell,
    /// Payload bytes, in the order of [`Way::BOTH`].
    pub relayed: [Cell; 2],
    /// Of these, bytes that were spliced.
    pub spliced: [Cell; 2],
    /// Reads of bulk for which there was no pipe.
    pub pipes_refused: Cell,
    /// In the order of [`Pause::LABELS`].
    pub accept_pauses: [Cell; Pause::LABELS.len()],
    /// Log lines lost because the writer could not keep up.
    pub log_lost: Cell,
    /// Connections open now.
    pub open: Cell,
    /// Of these, still without a header.
    pub pending: Cell,
    /// Time from decision to connected app, by bucket; the last is beyond all bounds.
    pub connect_buckets: [Cell; CONNECT_BUCKETS.len() + 1],
    /// Sum of these times in microseconds.
    pub connect_sum: Cell,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            connections: cells2(),
            header_errors: cells(),
            refused_clients: cells(),
            dial_errors: cells(),
            dials: cells(),
            mapped_dials: Cell::default(),
            handed_over: Cell::default(),
            relayed: cells(),
            spliced: cells(),
            pipes_refused: Cell::default(),
            accept_pauses: cells(),
            log_lost: Cell::default(),
            open: Cell::default(),
            pending: Cell::default(),
            connect_buckets: cells(),
            connect_sum: Cell::default(),
        }
    }
}

impl Counters {
    /// Counts an ended connection under its outcome, and under the reason behind it.
    pub fn record_end(&self, version: Option<Version>, outcome: Outcome) {
        self.connections[version_index(version)][outcome.index()].add(1);
        match outcome {
            Outcome::BadHeader(error) => {
                count(&self.header_errors, HeaderError::all(), &error);
            }
            Outcome::RefusedClient(refusal) => {
                count(&self.refused_clients, Refusal::ALL, &refusal);
            }
            Outcome::DialFailed(error) => count(&self.dial_errors, DialError::ALL, &error),
            _ => {}
        }
    }

    /// Counts an app that was reached by this step after so long.
    pub fn record_dial(&self, step: Step, took: Duration) {
        count(&self.dials, Step::ALL, &step);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = CONNECT_BUCKETS.iter().position(|bound| micros <= *bound);
        self.connect_buckets[bucket.unwrap_or(CONNECT_BUCKETS.len())].add(1);
        self.connect_sum.add(micros);
    }

    /// Counts relayed payload.
    pub fn record_relayed(&self, way: Way, bytes: usize) {
        self.relayed[way as usize].add(bytes as u64);
    }

    /// Counts payload that was read by splicing.
    pub fn record_spliced(&self, way: Way, bytes: usize) {
        self.spliced[way as usize].add(bytes as u64);
    }

    /// Counts a pause of accepting.
    pub fn record_pause(&self, pause: Pause) {
        self.accept_pauses[pause as usize].add(1);
    }
}

fn count<T: PartialEq>(cells: &[Cell], all: impl IntoIterator<Item = T>, one: &T) {
    if let Some(index) = all.into_iter().position(|each| each == *one) {
        cells[index].add(1);
    }
}

fn version_index(version: Option<Version>) -> usize {
    match version {
        Some(Version::V1) => 0,
        Some(Version::V2) => 1,
        None => 2,
    }
}

fn cells<const N: usize>() -> [Cell; N] {
    std::array::from_fn(|_| Cell::default())
}

fn cells2<const N: usize, const M: usize>() -> [[Cell; M]; N] {
    std::array::from_fn(|_| cells())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_connection_counts_once_and_with_its_reason() {
        let counters = Counters::default();
        let outcome = Outcome::BadHeader(HeaderError::Evicted);
        counters.record_end(Some(Version::V2), outcome);
        assert_eq!(counters.connections[1][outcome.index()].get(), 1);
        let all: u64 = counters.header_errors.iter().map(Cell::get).sum();
        assert_eq!(
            (all, counters.header_errors[HEADER_ERRORS - 1].get()),
            (1, 1)
        );
    }

    #[test]
    fn a_dial_counts_in_the_bucket_that_holds_it() {
        let counters = Counters::default();
        counters.record_dial(Step::AsClient, Duration::from_micros(50));
        counters.record_dial(Step::AsClient, Duration::from_secs(60));
        assert_eq!(counters.connect_buckets[0].get(), 1);
        assert_eq!(counters.connect_buckets[CONNECT_BUCKETS.len()].get(), 1);
        assert_eq!(counters.dials[0].get(), 2);
    }
}
