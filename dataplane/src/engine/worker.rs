//! One worker: waits for events, and takes each connection as far as it goes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::backend::Backend;
use super::carry::{Carried, Tools, Turn};
use super::fellows::Fellows;
use super::listener::Listeners;
use super::pipes::Pipes;
use super::places::{Key, Places};
use super::strangers::Strangers;
use super::wheel::Wheel;
use super::{Limits, Mailbox};
use crate::access_log::AccessLog;
use crate::config::file::AccessLogMode;
use crate::connection::outcome::{DialError, HeaderError, Outcome};
use crate::connection::{Connection, Side, Tick};
use crate::counters::Counters;

/// Bytes of the buffer that every read of this worker goes through: the longest header, and a read
/// of payload behind it.
pub(super) const SCRATCH: usize = 128 << 10;

/// The kernel had no memory to watch a connection.
const EXHAUSTED: Outcome = Outcome::DialFailed(DialError::Exhausted);

/// What a worker is made of.
pub(super) struct Parts {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) counters: Arc<Counters>,
    pub(super) fellows: Fellows,
    pub(super) log: AccessLog,
    /// Goes with the worker: whoever waits for all of them notices.
    pub(super) _done: tokio::sync::mpsc::Sender<()>,
    pub(super) epoch: Instant,
}

/// A worker's whole state.
pub(super) struct Worker<B: Backend> {
    pub(super) parts: Parts,
    pub(super) backend: B,
    pub(super) listeners: Listeners,
    pub(super) strangers: Strangers,
    pub(super) connections: Places<Carried<B>>,
    pub(super) limits: Limits,
    /// Connections without a header, oldest first; some have one or are gone by now.
    waiting: VecDeque<Key>,
    /// Connections that have something to do, and whose turn it is not.
    again: VecDeque<Key>,
    deadlines: Wheel<Key>,
    pub(super) scratch: Vec<u8>,
    pipes: Pipes,
    pub(super) now: Tick,
    /// Waits for events so far.
    pub(super) turns: u64,
    pending: usize,
    pub(super) draining: bool,
    /// What is open was cut, and whatever still comes will be.
    pub(super) cutting: bool,
}

/// Runs a worker until it is told to end.
pub(super) fn run<B: Backend>(parts: Parts, started: &Sender<io::Result<()>>) {
    let mut worker = match Worker::<B>::new(parts) {
        Ok(worker) => worker,
        Err(error) => return report(started, Err(error)),
    };
    report(started, Ok(()));
    while !worker.is_over() {
        worker.turn();
    }
}

fn report(started: &Sender<io::Result<()>>, result: io::Result<()>) {
    // Whoever started us waits for this.
    let _ = started.send(result);
}

impl<B: Backend> Worker<B> {
    fn new(parts: Parts) -> io::Result<Self> {
        let backend = B::new(&parts.mailbox)?;
        Ok(Self {
            parts,
            backend,
            listeners: Listeners::default(),
            strangers: Strangers::default(),
            connections: Places::default(),
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
            pending: 0,
            draining: false,
            cutting: false,
        })
    }

    fn is_over(&self) -> bool {
        self.draining && self.connections.is_empty() && self.parts.mailbox.close()
    }

    /// Waits once, and handles everything that came.
    fn turn(&mut self) {
        let limit = self.wait_limit();
        self.backend.wait(limit);
        self.turns += 1;
        self.now = u64::try_from(self.parts.epoch.elapsed().as_millis()).unwrap_or(Tick::MAX);
        B::deliver(self);
        self.take_turns();
        self.expire();
        self.refuse_late();
        self.resume_accepting();
    }

    /// Milliseconds until there is something to do even if nothing comes.
    fn wait_limit(&self) -> Option<Tick> {
        if !self.again.is_empty() {
            return Some(0);
        }
        let deadline = self.deadlines.wait(self.now);
        let later = |at: Tick| at.saturating_sub(self.now).max(1);
        let resume = self.listeners.resume_at().map(later);
        let stranger = self.strangers.next().map(later);
        [deadline, resume, stranger].into_iter().flatten().min()
    }

    /// Does what the mailbox says.
    pub(super) fn read_mail(&mut self) {
        let orders = self.parts.mailbox.take();
        orders.into_iter().for_each(|order| self.obey(order));
    }

    /// Tells a connection something, and lets it go on.
    pub(super) fn tell(&mut self, key: Key, what: impl FnOnce(&mut Carried<B>)) {
        let Some(carried) = self.connections.get_mut(key) else {
            return;
        };
        what(carried);
        // Its turn comes with the others'; a second place in that queue would grow with each event.
        if !carried.queued {
            self.advance(key);
        }
    }

    /// Tells a connection something, which goes on with the others.
    pub(super) fn note(&mut self, key: Key, what: impl FnOnce(&mut Carried<B>)) {
        let Some(carried) = self.connections.get_mut(key) else {
            return;
        };
        what(carried);
        if !std::mem::replace(&mut carried.queued, true) {
            self.again.push_back(key);
        }
    }

    /// A turn for everyone who waits for one.
    pub(super) fn take_turns(&mut self) {
        for _ in 0..self.again.len() {
            if let Some(key) = self.again.pop_front() {
                self.take_turn(key);
            }
        }
    }

    /// The next turn of a connection whose last one ended before its work did.
    fn take_turn(&mut self, key: Key) {
        if let Some(carried) = self.connections.get_mut(key) {
            carried.queued = false;
            self.advance(key);
        }
    }

    /// Takes a connection as far as it goes, or to the end of its turn.
    pub(super) fn advance(&mut self, key: Key) {
        let Some(carried) = self.connections.get_mut(key) else {
            return;
        };
        let (was_pending, deadline) = (carried.logic.is_pending(), carried.logic.deadline());
        let turn = carried.advance(&mut Tools {
            backend: &mut self.backend,
            counters: &self.parts.counters,
            scratch: &mut self.scratch,
            pipes: &mut self.pipes,
            now: self.now,
        });
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
            Turn::Waiting => B::settle(carried, &mut self.backend),
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
    pub(super) fn insert(&mut self, make: impl FnOnce(Key) -> Carried<B>) {
        let key = self.connections.insert(make);
        let Some(carried) = self.connections.get_mut(key) else {
            return;
        };
        if let Err(errno) = self.backend.adopt(carried) {
            tracing::debug!(%errno, "could not watch a connection");
            self.connections.remove(key);
            return self.parts.counters.record_end(None, EXHAUSTED);
        }
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
            if let Some(carried) = self.connections.get_mut(key)
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
        let carried = self.connections.get(key);
        carried.is_some_and(|carried| carried.logic.is_pending())
    }

    pub(super) fn cut(&mut self, key: Key, outcome: Outcome) {
        let Some(carried) = self.connections.get_mut(key) else {
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
            let Some(carried) = self.connections.get_mut(key) else {
                continue;
            };
            match carried.logic.deadline() {
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
        let Some(mut carried) = self.connections.remove(key) else {
            return;
        };
        self.parts.counters.open.set(self.connections.len());
        self.parts
            .counters
            .record_end(carried.logic.version(), outcome);
        if is_logged(carried.live.setup.log, outcome) {
            let lost = !self.parts.log.record(carried.record(outcome, self.now));
            self.parts.counters.log_lost.add(u64::from(lost));
        }
        self.backend.close(carried);
    }
}

fn is_logged(mode: AccessLogMode, outcome: Outcome) -> bool {
    match mode {
        AccessLogMode::Off => false,
        AccessLogMode::Errors => outcome.is_error(),
        AccessLogMode::All => true,
    }
}
