//! SIGTERM and SIGINT end, SIGHUP reloads.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals we know.
pub(super) struct Signals {
    pub(super) end: End,
    pub(super) hang_up: Signal,
}

/// The two that ask to end.
pub(super) struct End {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            end: End {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            },
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

impl End {
    /// Waits for one of them.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
