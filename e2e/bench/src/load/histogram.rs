//! Latencies in a fixed table: recording is one addition and never allocates.
//!
//! Log-linear: 128 steps for each power of two, so a quantile is at most 0.8 % off.

use std::time::Duration;

const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.ilog2();

/// 2^40 ns is 18 minutes: everything longer counts as that.
const POWERS: usize = 40;

/// How often each latency was seen.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; POWERS * index(STEPS)],
            total: 0,
        }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let last = self.counts.len() - 1;
        self.counts[slot(nanos).min(last)] += 1;
        self.total += 1;
    }

    /// Forgets everything, for the end of a warm-up.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own += other;
        }
        self.total += other.total;
    }

    /// The latency, in microseconds, that this share of all stayed within; None without any.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        // A share of a count: the rounding is meant.
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let slot = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(value(slot) / 1_000.0)
    }
}

/// Below `STEPS` a slot is a nanosecond; above, the top bits of the number.
fn slot(nanos: u64) -> usize {
    if nanos < STEPS {
        return index(nanos);
    }
    let power = nanos.ilog2() - STEP_BITS;
    index(u64::from(power + 1) * STEPS + ((nanos >> power) - STEPS))
}

/// The middle of a slot, in nanoseconds.
fn value(slot: usize) -> f64 {
    let slot = slot as u64;
    let (power, step) = (slot / STEPS, slot % STEPS);
    match power.checked_sub(1) {
        None => step as f64,
        Some(power) => {
            ((STEPS + step) as f64 + 0.5) * 2f64.powi(i32::try_from(power).unwrap_or(i32::MAX))
        }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: Option<f64>, wanted: f64) {
        let found = found.unwrap();
        assert!(
            (found - wanted).abs() <= wanted * 0.008,
            "{found} is not {wanted}"
        );
    }

    #[test]
    fn a_quantile_is_within_one_step_of_the_truth() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|micros| histogram.record(Duration::from_micros(micros)));
        near(histogram.quantile(0.5), 500.0);
        near(histogram.quantile(0.99), 990.0);
        near(histogram.quantile(0.999), 999.0);
        near(histogram.quantile(1.0), 1_000.0);
    }

    #[test]
    fn every_slot_begins_where_the_one_before_ends() {
        for nanos in 0..100_000 {
            let step = slot(nanos + 1) - slot(nanos);
            assert!(step <= 1, "from {nanos} to the next are {step} slots");
        }
    }

    #[test]
    fn two_threads_together_are_one() {
        let (mut left, mut right) = (Histogram::default(), Histogram::default());
        left.record(Duration::from_micros(10));
        right.record(Duration::from_micros(90));
        left.merge(&right);
        assert_eq!(left.total, 2);
        near(left.quantile(1.0), 90.0);
    }

    #[test]
    fn nothing_seen_has_no_quantile_and_eternity_is_counted() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.record(Duration::MAX);
        assert_eq!(histogram.total, 1);
    }
}
