//! Which engine serves: what was asked for, what can be had, and which is better.

use clap::ValueEnum;

use crate::sys::ring::{self, Unavailable};

/// What one may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The better one of those that can be had.
    #[default]
    Auto,
    /// epoll, which can be had everywhere.
    Epoll,
    /// io_uring, or nothing.
    #[value(name = "io_uring")]
    IoUring,
}

/// What serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Readiness, and calls.
    Epoll,
    /// Requests, and completions.
    IoUring,
}

impl Kind {
    /// Labels of the metric.
    pub const ALL: [Self; 2] = [Self::Epoll, Self::IoUring];

    /// Its name in the metric, in logs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}

/// The engine cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("--engine io_uring cannot be had here; --engine auto uses epoll then")]
pub struct Refused(#[source] pub Unavailable);

/// Chooses, and says in the log why it is not io_uring.
///
/// # Errors
/// An engine that was asked for by name and cannot be had.
pub fn choose(choice: Choice) -> Result<Kind, Refused> {
    let available = match choice {
        Choice::Epoll => return Ok(Kind::Epoll),
        Choice::Auto | Choice::IoUring => ring::probe(),
    };
    match (choice, available) {
        (Choice::IoUring, Err(why)) => Err(Refused(why)),
        (Choice::IoUring, Ok(())) => Ok(Kind::IoUring),
        (_, Ok(())) => Ok(better()),
        (_, Err(why)) => {
            let reason = format!("{:#}", anyhow::Error::from(why));
            tracing::info!(reason, "io_uring cannot be had here; epoll serves");
            Ok(Kind::Epoll)
        }
    }
}

/// The better one where both can be had. epoll, until io_uring has been measured to be.
fn better() -> Kind {
    Kind::Epoll
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_one_types() {
        for kind in Kind::ALL {
            let typed = Choice::from_str(kind.name(), false);
            let want = match kind {
                Kind::Epoll => Choice::Epoll,
                Kind::IoUring => Choice::IoUring,
            };
            assert_eq!(typed, Ok(want));
        }
    }

    #[test]
    fn epoll_is_never_refused() {
        assert_eq!(choose(Choice::Epoll).unwrap(), Kind::Epoll);
    }
}
