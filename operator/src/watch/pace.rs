//! How soon a broken watch is begun anew.

use std::time::Duration;

use kube::runtime::utils::Backoff;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(500);

/// An API server that comes back is noticed so soon at the latest.
const LONGEST: Duration = Duration::from_secs(8);

/// Trouble after so much quiet is another trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Doubles from failure to failure, up to a bound.
///
/// kube calls `reset` for every event, also for the one that announces a list before it is asked
/// for: with a list that fails again and again that would be no back-off at all.
pub(crate) struct Pace {
    wait: Duration,
    last: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            wait: FIRST,
            last: None,
        }
    }
}

impl Iterator for Pace {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self
            .last
            .is_none_or(|last| now.duration_since(last) > QUIET)
        {
            self.wait = FIRST;
        }
        let wait = self.wait;
        self.wait = (wait * 2).min(LONGEST);
        self.last = Some(now);
        Some(wait)
    }
}

impl Backoff for Pace {
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_doubles_up_to_its_bound_and_begins_anew_after_quiet() {
        let mut pace = Pace::default();
        let waits: Vec<_> = pace.by_ref().take(6).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000]);
        pace.reset();
        assert_eq!(pace.next(), Some(LONGEST));
        tokio::time::advance(QUIET + FIRST).await;
        assert_eq!(pace.next(), Some(FIRST));
    }
}
