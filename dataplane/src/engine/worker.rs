//! One worker: waits for events, and takes each connection as far as it goes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use slab::Slab;

use super::carry::{Carried, Tools, Turn};
use super::listener::Listeners;
use super::pipes::Pipes;
use super::strangers::Strangers;
use super::wheel::Wheel;
use super::{Limits, Mailbox};
use crate::access_log::AccessLog;
use crate::config::file::AccessLogMode;
use crate::connection::outcome::{DialError, HeaderError, Outcome};
use crate::connection::{Connection, Side, Tick};
use crate::counters::Counters;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// Bytes of the buffer that every read of this worker goes through: the longest header, and a read
/// of payload behind it.
pub(super) const SCRATCH: usize = 128 << 10;

/// Token of the mailbox. Listeners have [`LISTENER`] and their index, connections a [`Key`].
const MAILBOX: u64 = u64::MAX;

/// Bit that marks a listener's token.
pub(super) const LISTENER: u64 = 1 << 63;

/// Bit that marks the app's side of a connection.
const APP_SIDE: u64 = 1 << 62;

/// The kernel had no memory to watch a connection.
const EXHAUSTED: Outcome = Outcome::DialFailed(DialError::Exhausted);

/// A connection's place, and which of those that had the place before it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Key {
    /// What epoll hands back for one side. 30 bits of generation: a stale event is of this turn.
    pub(super) fn token(self, side: Side) -> u64 {
        let side = if side == Side::App { APP_SIDE } else { 0 };
        side | u64::from(self.generation & (u32::MAX >> 2)) << 32 | u64::from(self.index)
    }
}

/// What a worker is made of.
pub(super) struct Parts {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) counters: Arc<Counters>,
    pub(super) log: AccessLog,
    /// Goes with the worker: whoever waits for all of them notices.
    pub(super) _done: tokio::sync::mpsc::Sender<()>,
    pub(super) epoch: Instant,
}

/// A worker's whole state.
pub(super) struct Worker {
    pub(super) parts: Parts,
    pub(super) epoll: Epoll,
    pub(super) listeners: Listeners,
    pub(super) strangers: Strangers,
    pub(super) connections: Slab<Carried>,
    pub(super) limits: Limits,
    /// Connections without a header, oldest first; some have one or are gone by now.
    waiting: VecDeque<Key>,
    /// Connections whose turn ended before their work did.
    again: VecDeque<Key>,
    deadlines: Wheel<Key>,
    pub(super) scratch: Vec<u8>,
    pipes: Pipes,
    pub(super) now: Tick,
    /// Waits for events so far.
    pub(super) turns: u64,
    generation: u32,
    pending: usize,
    pub(super) draining: bool,
}

/// Runs a worker until it is told to end.
pub(super) fn run(parts: Parts) {
    let mut worker = match Worker::new(parts) {
        Ok(worker) => worker,
        Err(error) => return tracing::error!(%error, "worker could not start"),
    };
    let mut events = vec![EpollEvent::empty(); EVENTS];
    while !worker.is_over() {
        worker.turn(&mut events);
    }
}

impl Worker {
    fn new(parts: Parts) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(
            parts.mailbox.wake.as_fd(),
            EpollEvent::new(EpollFlags::EPOLLIN, MAILBOX),
        )?;
        Ok(Self {
            parts,
            epoll,
            listeners: Listeners::default(),
            strangers: Strangers::default(),
            connections: Slab::new(),
            limits: Limits {
                open: 0,
                pending: 0,
            },
            waiting: VecDeque::new(),
            again: VecDeque::new(),
            deadlines: Wheel::new(0),
            scratch: vec![0; SCRATCH],
            pipes: Pipes::new(),
            now: 0,
            turns: 1,
            generation: 0,
            pending: 0,
            draining: false,
        })
    }

    fn is_over(&self) -> bool {
        self.draining && self.connections.is_empty()
    }

    /// Waits once, and handles everything that came.
    fn turn(&mut self, events: &mut [EpollEvent]) {
        let count = match self.epoll.wait(events, self.timeout()) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => {
                // Only a bug can bring EBADF or EINVAL here; without events nothing works.
                tracing::error!(%errno, "epoll_wait failed; ending");
                std::process::abort();
            }
        };
        self.turns += 1;
        self.now = u64::try_from(self.parts.epoch.elapsed().as_millis()).unwrap_or(Tick::MAX);
        for event in &events[..count] {
            self.handle(event.data(), event.events());
        }
        for _ in 0..self.again.len() {
            if let Some(key) = self.again.pop_front() {
                self.take_turn(key);
            }
        }
        self.expire();
        self.refuse_late();
        self.resume_accepting();
    }

    fn timeout(&self) -> EpollTimeout {
        if !self.again.is_empty() {
            return EpollTimeout::ZERO;
        }
        let deadline = self.deadlines.wait(self.now);
        let later = |at: Tick| at.saturating_sub(self.now).max(1);
        let resume = self.listeners.resume_at().map(later);
        let stranger = self.strangers.next().map(later);
        let wait = [deadline, resume, stranger].into_iter().flatten().min();
        let millis = wait.map(|wait| i32::try_from(wait).unwrap_or(i32::MAX));
        millis.map_or(EpollTimeout::NONE, |wait| {
            EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::ZERO)
        })
    }

    fn handle(&mut self, token: u64, flags: EpollFlags) {
        if token == MAILBOX {
            self.parts
                .mailbox
                .take()
                .into_iter()
                .for_each(|order| self.obey(order));
        } else if token & LISTENER != 0 {
            self.accept_from(usize::try_from(token & !LISTENER).unwrap_or(usize::MAX));
        } else {
            self.wake(token, flags);
        }
    }

    /// An event of one side of a connection.
    fn wake(&mut self, token: u64, flags: EpollFlags) {
        let index = u32::try_from(token & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        let side = if token & APP_SIDE == 0 {
            Side::Peer
        } else {
            Side::App
        };
        let Some(carried) = self.connections.get_mut(index as usize) else {
            return;
        };
        let key = carried.key;
        if key.token(side) != token {
            return;
        }
        carried.ready(side, flags);
        // Its turn comes with the others'; a second place in that queue would grow with each event.
        if !carried.queued {
            self.advance(key);
        }
    }

    /// The next turn of a connection whose last one ended before its work did.
    fn take_turn(&mut self, key: Key) {
        if let Some(carried) = self.connections.get_mut(key.index as usize)
            && carried.key == key
        {
            carried.queued = false;
            self.advance(key);
        }
    }

    /// Takes a connection as far as it goes, or to the end of its turn.
    pub(super) fn advance(&mut self, key: Key) {
        let Some(carried) = self.connections.get_mut(key.index as usize) else {
            return;
        };
        if carried.key != key {
            return;
        }
        let (was_pending, deadline) = (carried.logic.is_pending(), carried.logic.deadline());
        let turn = carried.advance(&mut Tools {
            epoll: &self.epoll,
            counters: &self.parts.counters,
            scratch: &mut self.scratch,
            pipes: &mut self.pipes,
            now: self.now,
        });
        let refused = self.pipes.refused();
        self.parts.counters.pipes_refused.set(refused);
        let is_pending = carried.logic.is_pending();
        match carried.logic.deadline() {
            // A later deadline is found out when the old one comes up.
            Some(new) if deadline.is_none_or(|old| new < old) => self.deadlines.insert(key, new),
            _ => {}
        }
        if was_pending && !is_pending {
            self.pending -= 1;
        }
        match turn {
            Turn::Waiting => {}
            Turn::Unfinished if carried.queued => {}
            Turn::Unfinished => {
                carried.queued = true;
                self.again.push_back(key);
            }
            Turn::Over(outcome) => self.close(key, outcome),
        }
        self.parts.counters.pending.set(self.pending);
    }

    /// Takes in a connection that was just accepted.
    pub(super) fn insert(&mut self, make: impl FnOnce(Key) -> Carried) {
        self.generation = self.generation.wrapping_add(1) & (u32::MAX >> 2);
        let entry = self.connections.vacant_entry();
        let index = u32::try_from(entry.key()).expect("fewer connections than descriptors");
        let key = Key {
            index,
            generation: self.generation,
        };
        let carried = make(key);
        if let Err(errno) = carried.register(&self.epoll) {
            tracing::debug!(%errno, "could not watch a connection");
            return self.parts.counters.record_end(None, EXHAUSTED);
        }
        let carried = entry.insert(carried);
        if let Some(deadline) = carried.logic.deadline() {
            self.deadlines.insert(key, deadline);
        }
        if carried.logic.is_pending() {
            self.pending += 1;
            self.waiting.push_back(key);
        }
        self.parts.counters.open.set(self.connections.len());
        while self
            .waiting
            .front()
            .is_some_and(|key| !self.is_waiting(*key))
        {
            self.waiting.pop_front();
        }
        self.advance(key);
    }

    /// Whether this connection may be taken in as things are.
    pub(super) fn has_room(&self, newcomer: &Connection) -> bool {
        let pending = !newcomer.is_pending() || self.pending < self.limits.pending;
        self.connections.len() < self.limits.open && pending
    }

    /// Whether there is room, or a connection without a header that can make some.
    pub(super) fn can_make_room(&mut self) -> bool {
        if self.connections.len() < self.limits.open {
            return true;
        }
        self.hear_oldest();
        self.connections.len() < self.limits.open || self.pending > 0
    }

    /// Reads the oldest connections without a header once more, up to the first that has sent
    /// nothing new: a header that came a moment ago may stand behind other events of this turn, and
    /// whoever has sent one is not to make room.
    pub(super) fn hear_oldest(&mut self) {
        while let Some(key) = self.waiting.front().copied() {
            if let Some(carried) = self.connections.get_mut(key.index as usize)
                && carried.key == key
                && carried.logic.is_pending()
            {
                carried.logic.ready(Side::Peer, true, false);
                self.advance(key);
            }
            if self.is_waiting(key) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Cuts the oldest connection without a header; false when there is none.
    pub(super) fn evict_oldest(&mut self) -> bool {
        while let Some(key) = self.waiting.pop_front() {
            if self.is_waiting(key) {
                self.cut(key, Outcome::BadHeader(HeaderError::Evicted));
                return true;
            }
        }
        false
    }

    fn is_waiting(&self, key: Key) -> bool {
        let carried = self.connections.get(key.index as usize);
        carried.is_some_and(|carried| carried.key == key && carried.logic.is_pending())
    }

    pub(super) fn cut(&mut self, key: Key, outcome: Outcome) {
        let Some(carried) = self.connections.get_mut(key.index as usize) else {
            return;
        };
        if carried.logic.is_pending() {
            self.pending -= 1;
        }
        carried.logic.cut(outcome);
        self.advance(key);
    }

    fn expire(&mut self) {
        let mut due = Vec::new();
        self.deadlines.take(self.now, &mut due);
        for key in due {
            let Some(carried) = self.connections.get_mut(key.index as usize) else {
                continue;
            };
            match carried.logic.deadline() {
                _ if carried.key != key => {}
                None => {}
                Some(deadline) if deadline > self.now => self.deadlines.insert(key, deadline),
                Some(_) => {
                    if carried.logic.is_pending() {
                        self.pending -= 1;
                    }
                    carried.logic.expired();
                    self.advance(key);
                }
            }
        }
    }

    /// Closes the sockets, counts the outcome, and logs it if that is wanted.
    fn close(&mut self, key: Key, outcome: Outcome) {
        let Some(carried) = self.connections.try_remove(key.index as usize) else {
            return;
        };
        self.parts.counters.open.set(self.connections.len());
        self.parts
            .counters
            .record_end(carried.logic.version(), outcome);
        if is_logged(carried.live.setup.log, outcome) {
            let lost = !self.parts.log.record(carried.record(outcome, self.now));
            self.parts.counters.log_lost.add(u64::from(lost));
        } else {
            carried.close();
        }
    }
}

fn is_logged(mode: AccessLogMode, outcome: Outcome) -> bool {
    match mode {
        AccessLogMode::Off => false,
        AccessLogMode::Errors => outcome.is_error(),
        AccessLogMode::All => true,
    }
}
