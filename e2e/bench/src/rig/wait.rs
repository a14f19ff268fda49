//! Waits for a condition, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::interrupt;

const STEP: Duration = Duration::from_millis(10);

/// Looks until `ready` answers.
///
/// # Errors
/// Those of `ready`, the deadline's, and that somebody wants the run to end.
pub(crate) fn until<T>(
    what: &str,
    limit: Duration,
    mut ready: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = ready()? {
            return Ok(value);
        }
        interrupt::check()?;
        ensure!(Instant::now() < end, "not within {limit:?}: {what}");
        thread::park_timeout(STEP);
    }
}
