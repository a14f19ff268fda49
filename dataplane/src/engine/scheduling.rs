//! How the kernel schedules workers among those whom they serve.
//!
//! A sidecar and its app share processors, and a worker that interrupts whoever woke it finds one message
//! or one segment each time. One that waits until they pause finds all that they have sent: fewer turns,
//! fewer switches, warmer caches (see "Scheduling" in ARCHITECTURE.md). Where nobody else wants the
//! processor, it runs as soon as before.

use clap::ValueEnum;

use crate::sys;

/// A worker's place among other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scheduling {
    /// It interrupts nobody (SCHED_BATCH).
    #[default]
    Batch,
    /// As the process was started.
    Inherit,
}

impl Scheduling {
    /// Takes this place for the calling thread, if it can be had.
    pub(super) fn take(self) {
        if self == Self::Batch
            && let Err(errno) = sys::schedule_as_batch()
        {
            tracing::info!(%errno, "SCHED_BATCH cannot be had here; workers are scheduled as others are");
        }
    }
}
