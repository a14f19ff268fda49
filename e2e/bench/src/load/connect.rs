//! Short connections: connect, header and message in one send, the echo, close; so many at once.
//!
//! The time of one runs from before the socket is made to the last byte of its answer.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use socket2::Socket;

use super::dialer::{Dialer, PING, receive, transmit};
use super::poller::Poller;
use super::tally::{Fault, Tally};
use super::window::{Clock, Window};
use super::{Load, Task};

/// A connection without its answer for so long failed.
const SILENT: Duration = Duration::from_secs(2);

/// So many connections at once, each followed by the next.
#[derive(Debug)]
pub(crate) struct Connect {
    slots: Vec<Option<Attempt>>,
    dialer: Dialer,
    poller: Poller,
    hello: Vec<u8>,
    tally: Tally,
}

#[derive(Debug)]
struct Attempt {
    socket: Socket,
    began: Instant,
    missing: usize,
    /// What the kernel would not take yet: the connection was not there.
    unsent: Option<Vec<u8>>,
}

impl Load for Connect {
    fn prepare(task: Task) -> anyhow::Result<Self> {
        Ok(Self {
            slots: (0..task.connections).map(|_| None).collect(),
            dialer: task.dialer,
            poller: Poller::new()?,
            hello: Vec::with_capacity(256),
            tally: Tally::default(),
        })
    }

    fn run(mut self, window: Window) -> Tally {
        let mut clock = Clock::new(window);
        loop {
            let now = Instant::now();
            if clock.is_over(now, &mut self.tally) {
                self.tally.clients = self.dialer.named();
                return self.tally;
            }
            for at in 0..self.slots.len() {
                self.look_after(at, now);
            }
            for ready in 0..self.poller.wait(clock.patience(now)) {
                let (at, flags) = self.poller.event(ready);
                if flags.contains(EpollFlags::EPOLLOUT) {
                    self.send_late(at);
                } else {
                    self.answer(at);
                }
            }
        }
    }
}

impl Connect {
    /// Fills an empty slot, and ends what has been silent for too long.
    fn look_after(&mut self, at: usize, now: Instant) {
        match &self.slots[at] {
            Some(attempt) if now - attempt.began > SILENT => self.fail(at, Fault::Silent),
            Some(_) => {}
            None => self.start(at),
        }
    }

    fn start(&mut self, at: usize) {
        let began = Instant::now();
        let Ok(socket) = self.dialer.begin() else {
            self.tally.fault(Fault::Connect);
            return;
        };
        self.dialer.write_header(&mut self.hello);
        self.hello.extend_from_slice(PING);
        let mut attempt = Attempt {
            socket,
            began,
            missing: PING.len(),
            unsent: None,
        };
        let sent = transmit(&attempt.socket, &self.hello);
        let flags = match sent {
            Ok(count) if count == self.hello.len() => EpollFlags::EPOLLIN,
            Err(Errno::EAGAIN) => {
                attempt.unsent = Some(self.hello.clone());
                EpollFlags::EPOLLOUT
            }
            Ok(_) | Err(_) => return self.tally.fault(Fault::Connect),
        };
        match self.poller.add(&attempt.socket, at, flags) {
            Ok(()) => self.slots[at] = Some(attempt),
            Err(_) => self.tally.fault(Fault::Connect),
        }
    }

    fn send_late(&mut self, at: usize) {
        let Some(attempt) = &mut self.slots[at] else {
            return;
        };
        let unsent = attempt.unsent.take().unwrap_or_default();
        let is_sent = transmit(&attempt.socket, &unsent) == Ok(unsent.len());
        let listens = self.poller.change(&attempt.socket, at, EpollFlags::EPOLLIN);
        if !is_sent || listens.is_err() {
            self.fail(at, Fault::Connect);
        }
    }

    fn answer(&mut self, at: usize) {
        let Some(attempt) = &mut self.slots[at] else {
            return;
        };
        let mut bytes = [0; 64];
        match receive(&attempt.socket, &mut bytes) {
            Ok(0) => self.fail(at, Fault::Closed),
            Ok(count) if count < attempt.missing => attempt.missing -= count,
            Ok(count) if bytes[..count] == PING[PING.len() - attempt.missing..] => {
                self.tally.messages += 1;
                self.tally.latency.record(attempt.began.elapsed());
                self.slots[at] = None;
                self.start(at);
            }
            Ok(_) => self.fail(at, Fault::Corrupt),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => self.fail(at, Fault::Closed),
        }
    }

    fn fail(&mut self, at: usize, fault: Fault) {
        self.slots[at] = None;
        self.tally.fault(fault);
    }
}
