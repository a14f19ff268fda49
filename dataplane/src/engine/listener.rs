//! A worker's listeners: accept, limit, and a pause when there is no room.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use nix::errno::Errno;

use super::backend::Backend;
use super::carry::{Carried, LivePort};
use super::mailbox::{Handed, Order};
use super::places::{Key, Places};
use super::socket;
use super::worker::Worker;
use crate::address::Peer;
use crate::connection::outcome::Outcome;
use crate::connection::{Connection, Tick};
use crate::counters::Pause;
use crate::sys;

/// Connections accepted from one listener before others get their turn.
const TURN: u32 = 64;

/// How long accepting rests when descriptors or memory have run out; a closed connection ends it.
const REST: Tick = 100;

/// The listeners of one worker.
#[derive(Default)]
pub(super) struct Listeners {
    open: Places<Listener>,
    /// Set while nothing is accepted.
    paused: Option<Paused>,
}

#[derive(Clone, Copy)]
struct Paused {
    /// Look again at this time, even if nothing was closed.
    until: Tick,
    /// Connections that were open when the pause began.
    open: usize,
}

/// One listener.
pub(super) struct Listener {
    pub(super) key: Key,
    pub(super) fd: OwnedFd,
    /// The kernel was asked to tell when somebody waits.
    pub(super) watched: bool,
    address: SocketAddr,
    live: Rc<LivePort>,
    rush: Rush,
}

/// How many wait at a listener, as a guess: to ask until there is none left costs a call each time,
/// and epoll tells of a listener again as long as one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rush {
    guess: u32,
    /// Turn of the worker in which all that were expected came.
    met: u64,
}

impl Rush {
    const NONE: Self = Self { guess: 1, met: 0 };

    /// As many as were expected came in this turn. If the turn before was like that, more may wait.
    fn met(&mut self, turn: u64) {
        if self.met + 1 == turn {
            self.guess = (self.guess * 2).min(TURN);
        }
        self.met = turn;
    }

    /// Only so many came.
    fn ended(&mut self, came: u32) {
        self.guess = came.clamp(1, TURN);
    }
}

impl Listeners {
    /// When a pause is to be looked at again.
    pub(super) fn resume_at(&self) -> Option<Tick> {
        let until = self.paused.map(|paused| paused.until);
        until.filter(|until| *until != Tick::MAX)
    }
}

impl<B: Backend> Worker<B> {
    /// Somebody waits at a listener that was asked once: it is asked again, unless we pause.
    pub(super) fn answer(&mut self, key: Key) {
        if let Some(listener) = self.listeners.open.get_mut(key) {
            listener.watched = false;
            self.accept_from(key);
        }
        if self.listeners.paused.is_none()
            && let Some(listener) = self.listeners.open.get_mut(key)
        {
            // Only lack of memory can fail; the next pause's end tries again.
            let _ = self.backend.listen(listener);
        }
    }

    /// Accepts what waits at a listener, up to a turn's worth.
    pub(super) fn accept_from(&mut self, key: Key) {
        let mut came = 0;
        loop {
            if self.listeners.paused.is_some() || !self.may_accept() {
                return;
            }
            let Some(listener) = self.listeners.open.get_mut(key) else {
                return;
            };
            if came >= listener.rush.guess {
                return listener.rush.met(self.turns);
            }
            let (live, at) = (Rc::clone(&listener.live), listener.address);
            match sys::accept(&listener.fd) {
                Ok((socket, from)) => self.share(live, at, socket, Peer::new(from)),
                Err(error) => {
                    listener.rush.ended(came);
                    if !self.goes_on_after(&error) {
                        return;
                    }
                }
            }
            came += 1;
        }
    }

    /// Whether to accept the next one after this error. Nothing ends a listener: accept(2) also
    /// reports errors of connections that are already dead.
    fn goes_on_after(&mut self, error: &io::Error) -> bool {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EAGAIN) => false,
            Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM) => {
                self.pause(Pause::Exhausted);
                false
            }
            _ => true,
        }
    }

    /// Takes in a newcomer, or hands it to a worker that has far fewer.
    fn share(&mut self, live: Rc<LivePort>, at: SocketAddr, socket: OwnedFd, peer: Peer) {
        let Some(mailbox) = self.parts.fellows.instead(self.connections.len()) else {
            return self.take_in(live, at, socket, peer);
        };
        let handed = Handed {
            at,
            port: Arc::clone(&live.port),
            setup: Arc::clone(&live.setup),
            socket,
            peer,
        };
        match mailbox.send(Order::Take(Box::new(handed))) {
            Ok(()) => self.parts.counters.handed_over.add(1),
            // It has ended meanwhile.
            Err(order) => self.obey(order),
        }
    }

    /// Makes room for a connection that came by the listener `at`, if its peer is trusted.
    pub(super) fn take_in(
        &mut self,
        live: Rc<LivePort>,
        at: SocketAddr,
        socket: OwnedFd,
        peer: Peer,
    ) {
        let Some(rule) = live.port.trust.rule(peer.address().ip()) else {
            return self.keep_waiting(&live, at, socket, peer);
        };
        let now = self.now;
        let logic = Connection::new(peer, rule, &live.port.policy, now);
        if !self.has_room(&logic) {
            self.hear_oldest();
        }
        if !self.has_room(&logic) {
            self.evict_oldest();
        }
        self.insert(|key| Carried::new(key, logic, live, socket, now));
        self.leave_room();
    }

    /// At the limit the oldest connection without a header makes room for whoever comes; if there
    /// is none we pause, and the kernel's backlog holds newcomers.
    fn may_accept(&mut self) -> bool {
        if self.can_make_room() {
            return true;
        }
        self.pause(Pause::Limit);
        false
    }

    /// Closes unread and counts; the log has no line, or a scanner could fill it.
    pub(super) fn refuse(&self, peer: Peer, outcome: Outcome) {
        tracing::debug!(%peer, outcome = outcome.label(), "connection refused");
        self.parts.counters.record_end(None, outcome);
    }

    fn pause(&mut self, reason: Pause) {
        self.parts.counters.record_pause(reason);
        self.listeners.paused = Some(Paused {
            // At the limit only a closed connection, or a higher limit, makes a difference.
            until: match reason {
                Pause::Limit => Tick::MAX,
                Pause::Exhausted => self.now + REST,
            },
            open: self.connections.len(),
        });
        for listener in self.listeners.open.iter_mut() {
            self.backend.rest(listener);
        }
    }

    /// Ends a pause, if there is one: limits may be others now.
    pub(super) fn forget_pause(&mut self) {
        if self.listeners.paused.take().is_some() {
            for listener in self.listeners.open.iter_mut() {
                // Only lack of memory can fail; the next pause's end tries again.
                let _ = self.backend.listen(listener);
            }
        }
    }

    /// Ends a pause when a connection has closed or its time is up.
    pub(super) fn resume_accepting(&mut self) {
        let Some(paused) = self.listeners.paused else {
            return;
        };
        if self.connections.len() < paused.open || self.now >= paused.until {
            self.forget_pause();
        }
    }

    /// Keeps the listeners whose address is still wanted, under its new port; the others go, after
    /// what waits at them was accepted.
    pub(super) fn retain_listeners(&mut self, wanted: &[(SocketAddr, Rc<LivePort>)]) {
        for key in self.listener_keys() {
            let Some(listener) = self.listeners.open.get_mut(key) else {
                continue;
            };
            let address = listener.address;
            match wanted.iter().find(|(at, _)| *at == address) {
                Some((_, live)) => listener.live = Rc::clone(live),
                None => self.end_listener(key),
            }
        }
    }

    /// Takes a listener that was opened for us.
    pub(super) fn add_listener(
        &mut self,
        address: SocketAddr,
        fd: OwnedFd,
        wanted: &[(SocketAddr, Rc<LivePort>)],
    ) {
        let Some((_, live)) = wanted.iter().find(|(at, _)| *at == address) else {
            return;
        };
        let key = self.listeners.open.insert(|key| Listener {
            key,
            fd,
            watched: false,
            address,
            live: Rc::clone(live),
            rush: Rush::NONE,
        });
        let listener = self.listeners.open.get_mut(key);
        let listened = listener.map_or(Ok(()), |listener| self.backend.listen(listener));
        if let Err(errno) = listened {
            tracing::error!(%address, %errno, "could not watch a listener");
            self.listeners.open.remove(key);
        }
    }

    /// Accepts what waits, then closes every listener.
    pub(super) fn stop_accepting(&mut self) {
        for key in self.listener_keys() {
            self.end_listener(key);
        }
    }

    /// Closing a listener resets what waits in its backlog, so that is accepted first.
    fn end_listener(&mut self, key: Key) {
        let Some(listener) = self.listeners.open.remove(key) else {
            return;
        };
        for _ in 0..socket::BACKLOG {
            let Ok((socket, from)) = sys::accept(&listener.fd) else {
                break;
            };
            let live = Rc::clone(&listener.live);
            self.take_in(live, listener.address, socket, Peer::new(from));
        }
        self.backend.end(listener);
    }

    fn listener_keys(&self) -> Vec<Key> {
        let listeners = self.listeners.open.iter();
        listeners.map(|listener| listener.key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Rush;

    #[test]
    fn one_after_the_other_is_asked_for_once_each() {
        let mut rush = Rush::NONE;
        for turn in [2, 4, 6, 8] {
            rush.met(turn);
            assert_eq!(rush.guess, 1);
        }
    }

    #[test]
    fn a_rush_is_met_soon_and_forgotten_soon() {
        let mut rush = Rush::NONE;
        (2..=10).for_each(|turn| rush.met(turn));
        assert_eq!(rush.guess, super::TURN);
        rush.ended(0);
        assert_eq!(rush.guess, 1);
    }
}
