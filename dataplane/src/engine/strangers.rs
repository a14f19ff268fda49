//! Peers that nobody trusts yet, where a configuration that does may be on its way: a balancer's pod
//! that has just come connects before the operator's news of it has arrived.
//!
//! They wait unread, and hold nothing but a descriptor: no place among the connections, and none of
//! the room that those need.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::backend::Backend;
use super::carry::LivePort;
use super::worker::Worker;
use crate::address::Peer;
use crate::connection::Tick;
use crate::connection::outcome::Outcome;

/// Those that wait, the one whose time ends first at the front.
#[derive(Default)]
pub(super) struct Strangers(VecDeque<Stranger>);

struct Stranger {
    /// The listener they came by.
    at: SocketAddr,
    socket: OwnedFd,
    peer: Peer,
    until: Tick,
}

impl Strangers {
    /// When the first one's time ends.
    pub(super) fn next(&self) -> Option<Tick> {
        self.0.front().map(|stranger| stranger.until)
    }
}

impl<B: Backend> Worker<B> {
    /// Keeps a peer in no list for as long as its port says, or refuses it at once.
    pub(super) fn keep_waiting(
        &mut self,
        live: &LivePort,
        at: SocketAddr,
        socket: OwnedFd,
        peer: Peer,
    ) {
        let wait = live.port.untrusted_wait;
        if wait.is_zero() || self.draining {
            return self.refuse(peer, Outcome::Untrusted);
        }
        let until = self.now + Tick::try_from(wait.as_millis()).unwrap_or(Tick::MAX);
        let strangers = &mut self.strangers.0;
        let place = strangers.partition_point(|other| other.until <= until);
        strangers.insert(
            place,
            Stranger {
                at,
                socket,
                peer,
                until,
            },
        );
        self.leave_room();
    }

    /// Refuses those that wait where others need the room.
    pub(super) fn leave_room(&mut self) {
        let room = self.limits.open.saturating_sub(self.connections.len());
        let room = room.min(self.limits.pending);
        while self.strangers.0.len() > room {
            self.refuse_first();
        }
    }

    /// Refuses those whose time is over.
    pub(super) fn refuse_late(&mut self) {
        while self.strangers.next().is_some_and(|until| until <= self.now) {
            self.refuse_first();
        }
    }

    /// Refuses all.
    pub(super) fn refuse_strangers(&mut self) {
        while !self.strangers.0.is_empty() {
            self.refuse_first();
        }
    }

    /// Takes in those that a new configuration trusts; the others go on waiting, if their port is
    /// still there.
    pub(super) fn judge_strangers(&mut self, wanted: &[(SocketAddr, Rc<LivePort>)]) {
        for stranger in std::mem::take(&mut self.strangers.0) {
            let live = wanted.iter().find(|(at, _)| *at == stranger.at);
            let Some((_, live)) = live else {
                self.refuse(stranger.peer, Outcome::Untrusted);
                continue;
            };
            match live.port.trust.rule(stranger.peer.address().ip()) {
                Some(_) => {
                    let Stranger {
                        at, socket, peer, ..
                    } = stranger;
                    self.take_in(Rc::clone(live), at, socket, peer);
                }
                None => self.strangers.0.push_back(stranger),
            }
        }
    }

    fn refuse_first(&mut self) {
        if let Some(stranger) = self.strangers.0.pop_front() {
            self.refuse(stranger.peer, Outcome::Untrusted);
        }
    }
}
