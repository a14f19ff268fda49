//! SIGTERM and SIGINT end; a second one ends at once.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

/// The signals that ask to end.
pub(super) struct End {
    terminate: Signal,
    interrupt: Signal,
}

impl End {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of them.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for so long, or for another one.
    pub(super) async fn asked_again_within(&mut self, time: Duration) {
        let _ = timeout(time, self.asked()).await;
    }
}
