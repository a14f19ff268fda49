//! Waits for a condition with a deadline, and says what was there instead.

use std::time::{Duration, Instant};

use anyhow::anyhow;

const STEP: Duration = Duration::from_millis(100);

/// Why a condition will not come true, however long one waits.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Hopeless(pub String);

/// Looks again and again until `look` answers. Its error is the reason for "not yet", which becomes
/// part of ours at the deadline; [`Hopeless`] ends the wait at once.
///
/// # Errors
/// The condition has not come true within `limit`.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    loop {
        let reason = match look().await {
            Ok(found) => return Ok(found),
            Err(reason) => reason,
        };
        if reason.is::<Hopeless>() {
            return Err(anyhow!("it will never be that {what}: {reason:#}"));
        }
        if begin.elapsed() >= limit {
            return Err(anyhow!("not within {limit:?}: {what}; instead: {reason:#}"));
        }
        tokio::time::sleep(STEP).await;
    }
}

/// The same, and says how long it took: a promise about time is shown as a figure.
///
/// # Errors
/// The condition has not come true within `limit`.
pub async fn timed<T>(
    what: &str,
    limit: Duration,
    look: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    let found = until(what, limit, look).await?;
    eprintln!("{what}: after {:?}, at most {limit:?}", begin.elapsed());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_reason_for_not_yet_is_in_the_error() {
        let look = async || Err::<(), _>(anyhow!("2 of 3 pods"));
        let error = until("all pods are ready", Duration::from_millis(150), look).await;
        let want = "not within 150ms: all pods are ready; instead: 2 of 3 pods";
        assert_eq!(error.unwrap_err().to_string(), want);
    }

    #[tokio::test]
    async fn what_is_hopeless_is_not_waited_for() {
        let look = async || Err::<(), _>(Hopeless("exited with 2".to_owned()).into());
        let error = until("the pod is ready", Duration::MAX, look).await;
        let want = "it will never be that the pod is ready: exited with 2";
        assert_eq!(error.unwrap_err().to_string(), want);
    }
}
