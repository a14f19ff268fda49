//! When what happens counts: after the warm-up, for all threads alike.

use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use nix::sys::epoll::EpollTimeout;

use super::tally::Tally;

/// A wait looks at the clock so often at least.
const GLANCE: Duration = Duration::from_millis(50);

/// The measured part of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

/// Where one thread stands in it.
#[derive(Debug)]
pub(crate) struct Clock {
    window: Window,
    begun: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            begun: None,
        }
    }

    /// Whether the run is over at `now`; the warm-up's end clears the tally, the run's end writes
    /// its length into it.
    pub(crate) fn is_over(&mut self, now: Instant, tally: &mut Tally) -> bool {
        match self.begun {
            None if now >= self.window.begin => {
                self.begun = Some(now);
                tally.begin();
                false
            }
            Some(begun) if now >= self.window.end => {
                tally.seconds = (now - begun).as_secs_f64();
                true
            }
            None | Some(_) => false,
        }
    }

    /// How long a wait for the network may last at `now`.
    pub(crate) fn patience(&self, now: Instant) -> EpollTimeout {
        let next = match self.begun {
            None => self.window.begin,
            Some(_) => self.window.end,
        };
        let left = next.saturating_duration_since(now).min(GLANCE);
        // A millisecond more than is left: it may not become a busy loop of zeros.
        EpollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(EpollTimeout::ZERO)
    }
}

/// Holds every thread back until all of them are prepared.
#[derive(Debug)]
pub(crate) struct Gate {
    barrier: Barrier,
    window: OnceLock<Window>,
    warm_up: Duration,
    length: Duration,
}

impl Gate {
    pub(crate) fn new(threads: usize, warm_up: Duration, length: Duration) -> Self {
        Self {
            barrier: Barrier::new(threads),
            window: OnceLock::new(),
            warm_up,
            length,
        }
    }

    /// Waits for the others; the first through decides when it all begins.
    pub(crate) fn pass(&self) -> Window {
        self.barrier.wait();
        *self.window.get_or_init(|| {
            let begin = Instant::now() + self.warm_up;
            Window {
                begin,
                end: begin + self.length,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_the_warm_up_counts() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut clock = Clock::new(Window {
            begin: at(200),
            end: at(1_200),
        });
        let mut tally = Tally::default();
        tally.messages = 5;
        assert!(!clock.is_over(at(100), &mut tally));
        assert_eq!(tally.messages, 5);
        assert!(!clock.is_over(at(210), &mut tally));
        assert_eq!(tally.messages, 0);
        assert!(!clock.is_over(at(1_199), &mut tally));
        assert!(clock.is_over(at(1_210), &mut tally));
        assert!((tally.seconds - 1.0).abs() < 1e-9, "{}", tally.seconds);
    }
}
