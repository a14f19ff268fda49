//! Connections that are held open and say nothing.
//!
//! It prints a line when all of them are there, and holds them until its standard input ends; then
//! it looks whether each of them still is.

use std::io::{Read, Write, stdin, stdout};

use anyhow::Context;
use nix::errno::Errno;
use socket2::Socket;

use super::Task;
use super::dialer::receive;
use super::tally::{Fault, Tally};

/// Said when every connection has been answered once.
pub(crate) const HELD: &str = "held";

/// Opens the connections, holds them, and says how many were lost meanwhile.
///
/// # Errors
/// When a connection cannot be made.
pub(crate) fn hold(mut task: Task) -> anyhow::Result<Tally> {
    let mut held = Vec::with_capacity(task.connections);
    for number in 0..task.connections {
        let socket = task.dialer.proven();
        held.push(socket.with_context(|| format!("after {number} connections"))?);
    }
    writeln!(stdout(), "{HELD}")?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(count(&held, task.dialer.named))
}

fn count(held: &[Socket], clients: u64) -> Tally {
    let mut tally = Tally::naming(clients);
    for socket in held {
        match receive(socket, &mut [0; 8]) {
            Err(Errno::EAGAIN) => tally.messages += 1,
            Ok(0) | Err(_) => tally.fault(Fault::Closed),
            Ok(_) => tally.fault(Fault::Corrupt),
        }
    }
    tally
}
