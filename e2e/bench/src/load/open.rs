//! Open loop: messages leave at a constant rate, whatever became of those before.
//!
//! A latency runs from the moment at which the schedule meant the message to leave. A contender that
//! stalls is charged for every message it held up, not for the one that met the stall: there is no
//! coordinated omission.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use socket2::Socket;

use super::dialer::{PING, receive, transmit};
use super::poller::Poller;
use super::tally::{Fault, Tally};
use super::window::{Clock, Window};
use super::{Load, Task};

/// Unanswered messages of one connection at most: room for seconds of a stall.
const UNDER_WAY: usize = 8192;

/// The timer's number among the connections.
const TIMER: usize = usize::MAX;

/// Connections, and the schedule that goes round them.
#[derive(Debug)]
pub(crate) struct Open {
    lines: Vec<Line>,
    poller: Poller,
    timer: TimerFd,
    gap: Duration,
    scratch: Vec<u8>,
    tally: Tally,
    offered: u64,
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    /// When each unanswered message was meant to leave.
    meant: VecDeque<Instant>,
    /// Bytes of a half answer.
    partial: usize,
}

impl Load for Open {
    fn prepare(mut task: Task) -> anyhow::Result<Self> {
        let poller = Poller::new()?;
        let mut lines = Vec::with_capacity(task.connections);
        for at in 0..task.connections {
            let socket = task.dialer.proven()?;
            poller.add(&socket, at, EpollFlags::EPOLLIN)?;
            lines.push(Line {
                socket,
                meant: VecDeque::with_capacity(UNDER_WAY),
                partial: 0,
            });
        }
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
        poller.add(&timer, TIMER, EpollFlags::EPOLLIN)?;
        Ok(Self {
            lines,
            poller,
            timer,
            gap: Duration::from_secs_f64(1.0 / task.rate.max(1.0)),
            scratch: vec![0; 64 * 1024],
            tally: Tally::naming(task.dialer.named()),
            offered: 0,
        })
    }

    fn run(mut self, window: Window) -> Tally {
        let mut clock = Clock::new(window);
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if clock.is_over(now, &mut self.tally) {
                return self.finish(now);
            }
            while due <= now {
                self.offer(due);
                due += self.gap;
            }
            self.wake_at(due);
            for ready in 0..self.poller.wait(clock.patience(now)) {
                match self.poller.event(ready) {
                    (TIMER, _) => drop(self.timer.wait()),
                    (at, _) => self.answer(at),
                }
            }
        }
    }
}

impl Open {
    /// Sends the next message, on the next connection.
    fn offer(&mut self, meant: Instant) {
        let turn = self.offered % self.lines.len() as u64;
        let line = &mut self.lines[usize::try_from(turn).unwrap_or(0)];
        self.offered += 1;
        if line.meant.len() == UNDER_WAY || transmit(&line.socket, PING) != Ok(PING.len()) {
            self.tally.fault(Fault::Behind);
        } else {
            line.meant.push_back(meant);
        }
    }

    fn wake_at(&self, due: Instant) {
        let left = due.saturating_duration_since(Instant::now());
        // Zero would disarm it.
        let left = TimeSpec::from_duration(left.max(Duration::from_nanos(1)));
        let _ = self
            .timer
            .set(Expiration::OneShot(left), TimerSetTimeFlags::empty());
    }

    fn answer(&mut self, at: usize) {
        let line = &mut self.lines[at];
        match receive(&line.socket, &mut self.scratch) {
            Ok(0) => self.give_up(at),
            Ok(count) => {
                let bytes = line.partial + count;
                line.partial = bytes % PING.len();
                self.tally.messages += (bytes / PING.len()) as u64;
                let now = Instant::now();
                for meant in line
                    .meant
                    .drain(..(bytes / PING.len()).min(line.meant.len()))
                {
                    self.tally
                        .latency
                        .record(now.saturating_duration_since(meant));
                }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => self.give_up(at),
        }
    }

    fn give_up(&mut self, at: usize) {
        self.poller.forget(&self.lines[at].socket);
        self.tally.fault(Fault::Closed);
    }

    /// What is unanswered at the end has waited so long already: it counts with that.
    fn finish(mut self, now: Instant) -> Tally {
        for meant in self.lines.iter().flat_map(|line| &line.meant) {
            self.tally
                .latency
                .record(now.saturating_duration_since(*meant));
        }
        self.tally
    }
}
