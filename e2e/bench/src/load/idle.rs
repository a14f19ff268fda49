//! Connections that are held open and say nothing.
//!
//! It prints a line when all of them are there, or no more can be had, and holds them until its standard
//! input ends; then it looks whether each of them still is.

use std::io::{Read, Write, stdin, stdout};

use nix::errno::Errno;
use socket2::Socket;

use super::Task;
use super::dialer::receive;
use super::tally::{Fault, Tally};

/// Said with the number of connections, each of which has been answered once.
pub(crate) const HELD: &str = "held";

/// Opens the connections, holds them, and says how many were lost meanwhile.
///
/// # Errors
/// When nobody reads what it says.
pub(crate) fn hold(mut task: Task) -> anyhow::Result<Tally> {
    let mut held = Vec::with_capacity(task.connections);
    let mut refused = false;
    while held.len() < task.connections && !refused {
        match task.dialer.proven() {
            Ok(socket) => held.push(socket),
            Err(_) => refused = true,
        }
    }
    writeln!(stdout(), "{HELD} {}", held.len())?;
    stdin().read_to_end(&mut Vec::new())?;
    let mut tally = count(&held, task.dialer.named());
    if refused {
        tally.fault(Fault::Connect);
    }
    Ok(tally)
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
