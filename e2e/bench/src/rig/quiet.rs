//! Is anybody else using the processors? All contenders wait while none is measured, so the machine
//! should be idle between two measurements.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::wait;
use crate::cpu::Cpu;

/// Long enough for a few ticks on each processor.
const LOOK: Duration = Duration::from_millis(100);

/// More than this share of one processor is somebody else's work.
const QUIET: f64 = 0.25;

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

/// Processors that were busy meanwhile, niced work included.
fn share() -> anyhow::Result<f64> {
    let (start, before) = (Instant::now(), Cpu::read(&[]).context("/proc/stat")?);
    wait::until("a look at the processors", LOOK * 10, || {
        Ok((start.elapsed() >= LOOK).then_some(()))
    })?;
    let spent = Cpu::read(&[]).context("/proc/stat")?.since(&before);
    Ok((spent.busy + spent.niced) / start.elapsed().as_secs_f64())
}
