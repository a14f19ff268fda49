//! Failures in the log: one line for the first of a step, then one every ten seconds with how many
//! there were. A thousand pods that cannot be written must not be a thousand lines.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::Step;

/// How long a step is silent after a line.
const SILENCE: Duration = Duration::from_secs(10);

/// What was complained about, by step.
#[derive(Default)]
pub(super) struct Complaints {
    by_step: BTreeMap<&'static str, Complaint>,
}

struct Complaint {
    silent_until: Instant,
    unsaid: u32,
}

impl Complaints {
    /// Something failed, and is tried again.
    pub(super) fn about(&mut self, step: Step, error: &dyn Error, now: Instant) {
        if let Some(unsaid) = self.is_due(step.name(), now) {
            let step = step.name();
            tracing::warn!(
                step,
                unsaid,
                error = chain(error),
                "write failed, tried again"
            );
        }
    }

    /// How many were not said, if this one is to be.
    fn is_due(&mut self, step: &'static str, now: Instant) -> Option<u32> {
        let complaint = self.by_step.entry(step).or_insert(Complaint {
            silent_until: now,
            unsaid: 0,
        });
        if now < complaint.silent_until {
            complaint.unsaid += 1;
            return None;
        }
        complaint.silent_until = now + SILENCE;
        Some(std::mem::take(&mut complaint.unsaid))
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_speaks_once_in_ten_seconds_and_then_counts() {
        let mut complaints = Complaints::default();
        let start = Instant::now();
        assert_eq!(complaints.is_due("status", start), Some(0));
        for _ in 0..1000 {
            assert_eq!(complaints.is_due("status", start + SILENCE / 2), None);
        }
        assert_eq!(complaints.is_due("label", start + SILENCE / 2), Some(0));
        assert_eq!(complaints.is_due("status", start + SILENCE), Some(1000));
    }
}
