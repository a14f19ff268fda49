//! Waits for a condition, never for a time.

use std::thread;
use std::time::{Duration, Instant};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(10);

/// Looks until `ready` answers, and panics naming `what` when it has not by then.
#[track_caller]
pub fn until<T>(what: &str, limit: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        thread::park_timeout(STEP);
    }
}
