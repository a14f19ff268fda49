//! As much as goes through: every connection sends without pause, or receives, or both.
//!
//! Sends are as tcpkali's: a block of whole messages of 65,535 bytes at most, and where the kernel
//! took a part of it the next send goes on from there.

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use socket2::Socket;
use std::time::Instant;

use super::dialer::{PING, receive, transmit};
use super::poller::Poller;
use super::tally::{Fault, Tally};
use super::window::{Clock, Window};
use super::{Flow, Load, Task};
use crate::app;

/// tcpkali's REPLICATE_MAX_SIZE.
const TCPKALI_BLOCK: usize = 64 * 1024 - 1;

/// The whole messages that fit: 65,532 bytes.
pub(crate) const BLOCK: usize = TCPKALI_BLOCK / PING.len() * PING.len();

const READ: usize = 128 * 1024;

/// Connections, and the block that each of them sends over and over.
#[derive(Debug)]
pub(crate) struct Stream {
    lines: Vec<Line>,
    poller: Poller,
    block: Vec<u8>,
    scratch: Vec<u8>,
    tally: Tally,
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    /// How much of the block the kernel has taken.
    sent: usize,
    /// Where in the message the next byte is of those that come.
    phase: usize,
}

impl Load for Stream {
    fn prepare(mut task: Task) -> anyhow::Result<Self> {
        let poller = Poller::new()?;
        let mut lines = Vec::with_capacity(task.connections);
        for at in 0..task.connections {
            let (socket, flags) = match task.flow {
                Flow::Both => (
                    task.dialer.proven()?,
                    EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
                ),
                Flow::Up => (task.dialer.greet(&[app::SINK])?, EpollFlags::EPOLLOUT),
                Flow::Down => (task.dialer.greet(&[app::SOURCE])?, EpollFlags::EPOLLIN),
            };
            poller.add(&socket, at, flags)?;
            lines.push(Line {
                socket,
                sent: 0,
                phase: 0,
            });
        }
        Ok(Self {
            lines,
            poller,
            block: PING.repeat(BLOCK / PING.len()),
            scratch: vec![0; READ],
            tally: Tally::naming(task.dialer.named()),
        })
    }

    fn run(mut self, window: Window) -> Tally {
        let mut clock = Clock::new(window);
        loop {
            let now = Instant::now();
            if clock.is_over(now, &mut self.tally) {
                return self.tally;
            }
            for ready in 0..self.poller.wait(clock.patience(now)) {
                let (at, flags) = self.poller.event(ready);
                let gone = EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
                if flags.intersects(EpollFlags::EPOLLIN | gone) {
                    self.take(at);
                }
                if flags.contains(EpollFlags::EPOLLOUT) && !flags.intersects(gone) {
                    self.give(at);
                }
            }
        }
    }
}

impl Stream {
    fn take(&mut self, at: usize) {
        let line = &mut self.lines[at];
        match receive(&line.socket, &mut self.scratch) {
            Ok(0) => self.give_up(at, Fault::Closed),
            Ok(count) => {
                let (first, last) = (self.scratch[0], self.scratch[count - 1]);
                let expected = |offset| PING[(line.phase + offset) % PING.len()];
                let is_right = first == expected(0) && last == expected(count - 1);
                line.phase = (line.phase + count) % PING.len();
                self.tally.received += count as u64;
                if !is_right {
                    self.give_up(at, Fault::Corrupt);
                }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => self.give_up(at, Fault::Closed),
        }
    }

    fn give(&mut self, at: usize) {
        let line = &mut self.lines[at];
        match transmit(&line.socket, &self.block[line.sent..]) {
            Ok(count) => {
                line.sent = (line.sent + count) % BLOCK;
                self.tally.sent += count as u64;
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => self.give_up(at, Fault::Closed),
        }
    }

    fn give_up(&mut self, at: usize, fault: Fault) {
        self.poller.forget(&self.lines[at].socket);
        self.tally.fault(fault);
    }
}
