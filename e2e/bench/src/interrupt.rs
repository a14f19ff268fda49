//! Ctrl-C ends the run in order: namespaces and programs go with the values that own them.
//! The only file that may say `unsafe`.
#![allow(unsafe_code, reason = "sigaction; the block says why it is sound")]

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM are noted instead of ending the process.
///
/// # Errors
/// Those of sigaction(2).
pub(crate) fn listen() -> nix::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(note),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only stores into an atomic, which is async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// # Errors
/// When somebody wants the run to end.
pub(crate) fn check() -> anyhow::Result<()> {
    ensure!(!ASKED.load(Ordering::Relaxed), "interrupted");
    Ok(())
}
