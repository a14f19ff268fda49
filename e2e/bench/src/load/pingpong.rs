//! Closed loop: every connection has one message under way, always.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use socket2::Socket;

use super::dialer::{PING, receive, transmit};
use super::poller::Poller;
use super::tally::{Fault, Tally};
use super::window::{Clock, Window};
use super::{Load, Task};

/// A message unanswered for so long at the end was lost.
const SILENT: Duration = Duration::from_secs(1);

/// Connections that answer, and the message that goes back and forth on each.
#[derive(Debug)]
pub(crate) struct PingPong {
    lines: Vec<Line>,
    poller: Poller,
    message: Vec<u8>,
    scratch: Vec<u8>,
    tally: Tally,
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    sent: Instant,
    missing: usize,
    broken: bool,
}

impl Load for PingPong {
    fn prepare(mut task: Task) -> anyhow::Result<Self> {
        let poller = Poller::new()?;
        let mut lines = Vec::with_capacity(task.connections);
        for at in 0..task.connections {
            let socket = task.dialer.proven()?;
            poller.add(&socket, at, EpollFlags::EPOLLIN)?;
            lines.push(Line {
                socket,
                sent: Instant::now(),
                missing: 0,
                broken: false,
            });
        }
        Ok(Self {
            lines,
            poller,
            message: PING.iter().copied().cycle().take(task.size).collect(),
            scratch: vec![0; task.size.max(64 * 1024)],
            tally: Tally::naming(task.dialer.named()),
        })
    }

    fn run(mut self, window: Window) -> Tally {
        let mut clock = Clock::new(window);
        for at in 0..self.lines.len() {
            self.send(at, Instant::now());
        }
        loop {
            let now = Instant::now();
            if clock.is_over(now, &mut self.tally) {
                return self.finish(now);
            }
            for ready in 0..self.poller.wait(clock.patience(now)) {
                let (at, _) = self.poller.event(ready);
                self.answer(at);
            }
        }
    }
}

impl PingPong {
    fn send(&mut self, at: usize, now: Instant) {
        let line = &mut self.lines[at];
        line.sent = now;
        line.missing = self.message.len();
        if transmit(&line.socket, &self.message) != Ok(self.message.len()) {
            self.give_up(at, Fault::Short);
        }
    }

    fn answer(&mut self, at: usize) {
        let line = &mut self.lines[at];
        match receive(&line.socket, &mut self.scratch) {
            Ok(0) => self.give_up(at, Fault::Closed),
            Ok(count) if count < line.missing => line.missing -= count,
            Ok(count) if count > line.missing => self.give_up(at, Fault::Corrupt),
            Ok(_) => {
                let now = Instant::now();
                self.tally.messages += 1;
                self.tally.latency.record(now - line.sent);
                self.send(at, now);
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => self.give_up(at, Fault::Closed),
        }
    }

    fn give_up(&mut self, at: usize, fault: Fault) {
        let line = &mut self.lines[at];
        line.broken = true;
        self.poller.forget(&line.socket);
        self.tally.fault(fault);
    }

    fn finish(mut self, now: Instant) -> Tally {
        for line in &self.lines {
            if !line.broken && now - line.sent > SILENT {
                self.tally.fault(Fault::Silent);
            }
        }
        self.tally
    }
}
