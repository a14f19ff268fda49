//! Is anybody else using the processors? Others on the machine may, between two measurements and in them.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::wait;
use crate::cpu::Cpu;

/// Long enough for a few ticks on each processor.
const LOOK: Duration = Duration::from_millis(100);

/// Others may have this share of one processor: a machine has its housekeeping.
pub(crate) const QUIET: f64 = 0.1;

/// Waits until the machine is idle, for so long at most; whether it is.
///
/// # Errors
/// When /proc cannot be read, or somebody wants the run to end.
pub(crate) fn is_quiet_within(limit: Duration) -> anyhow::Result<bool> {
    let end = Instant::now() + limit;
    loop {
        if share()? < QUIET {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
    }
}

/// Processors that others had meanwhile.
fn share() -> anyhow::Result<f64> {
    let look = || Cpu::read(&[], &[]).context("could not read /proc");
    let (start, before) = (Instant::now(), look()?);
    wait::until("a look at the processors", LOOK * 10, || {
        Ok((start.elapsed() >= LOOK).then_some(()))
    })?;
    Ok(look()?.since(&before).others / start.elapsed().as_secs_f64())
}
