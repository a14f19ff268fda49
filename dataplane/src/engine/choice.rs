//! Which engine serves: what was asked for, what can be had, and which is better.

use clap::ValueEnum;

use crate::sys::ring::{self, Unavailable};

/// What one may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// epoll: io_uring has not been measured to be better.
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
#[error("--engine io_uring cannot be had here; --engine auto is epoll")]
pub struct Refused(#[source] pub Unavailable);

/// Chooses. By itself it takes epoll: io_uring has no lead that lasts from run to run (docs/benchmarks.md), needs
/// more processor time for streams of the app, and most containers forbid it.
///
/// # Errors
/// An engine that was asked for by name and cannot be had: io_uring is tried for real.
pub fn choose(choice: Choice) -> Result<Kind, Refused> {
    match choice {
        Choice::Auto | Choice::Epoll => Ok(Kind::Epoll),
        Choice::IoUring => ring::probe().map(|()| Kind::IoUring).map_err(Refused),
    }
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
