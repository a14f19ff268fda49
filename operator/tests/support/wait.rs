//! Waits for a condition, never for a time.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(5);

/// More than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

/// Looks until `ready` answers, and panics naming `what` when it has not by then.
pub async fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < end, "not within {LIMIT:?}: {what}");
        tokio::time::sleep(STEP).await;
    }
}
