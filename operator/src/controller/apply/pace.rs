//! So many in a second, and no more than a few at once after a pause. Pure: time is handed in.

use std::time::Duration;

use tokio::time::Instant;

/// What may be made up for after a pause.
const BURST: Duration = Duration::from_millis(100);

/// So many in a second.
pub(super) struct Pace {
    each: Duration,
    /// When the next one would be due if none had ever been late.
    next: Option<Instant>,
}

impl Pace {
    /// So many in a second; one at least.
    pub(super) fn per_second(count: u32) -> Self {
        Self {
            each: Duration::from_secs(1) / count.max(1),
            next: None,
        }
    }

    /// When the next one may go.
    pub(super) fn due(&self, now: Instant) -> Instant {
        self.next.unwrap_or(now)
    }

    /// One goes now.
    pub(super) fn take(&mut self, now: Instant) {
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let from = self.next.unwrap_or(earliest).max(earliest);
        self.next = Some(from + self.each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_within(pace: &mut Pace, start: Instant, span: Duration) -> u32 {
        let mut now = start;
        let mut sent = 0;
        while now < start + span {
            if pace.due(now) <= now {
                pace.take(now);
                sent += 1;
            } else {
                now = pace.due(now);
            }
        }
        sent
    }

    #[test]
    fn a_second_holds_its_count_and_a_tenth_of_it_after_a_pause() {
        let mut pace = Pace::per_second(50);
        let start = Instant::now();
        assert_eq!(sent_within(&mut pace, start, Duration::from_secs(1)), 55);
        let later = start + Duration::from_secs(1);
        assert_eq!(sent_within(&mut pace, later, Duration::from_secs(1)), 50);
        let much_later = start + Duration::from_secs(60);
        let first = sent_within(&mut pace, much_later, Duration::from_millis(1));
        assert_eq!(first, 6);
    }

    #[test]
    fn zero_in_a_second_is_one_in_a_second() {
        let mut pace = Pace::per_second(0);
        let start = Instant::now();
        assert_eq!(
            sent_within(&mut pace, start, Duration::from_millis(9500)),
            10
        );
    }
}
