//! Carries out one connection's commands on its sockets.

use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, Shutdown, getsockopt, recv, send, shutdown, sockopt};
use proxyunwrap_header::Progress;

use super::socket::{self, Dialled};
use super::worker::Key;
use super::{Open, Setup};
use crate::access_log::{self, Record, Tlv};
use crate::config::Port;
use crate::connection::ladder::{Attempt, Call};
use crate::connection::outcome::Outcome;
use crate::connection::{Command, Connection, Ending, Side, Tick, Way};
use crate::counters::Counters;

/// Commands of one connection before the others get their turn.
const TURN: usize = 32;

/// Bytes of a read. A direction whose sink took all of it doubles, one that was refused returns:
/// so what a slow reader makes us hold stays small (see the memory note in ARCHITECTURE.md).
const READ_MIN: usize = 16 << 10;
const READ_MAX: usize = 64 << 10;

/// Everything we want to know of a socket, once: edges come by themselves from then on.
const INTEREST: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLOUT)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);

/// A port as it is served now. Connections keep the one they were accepted under.
pub(super) struct LivePort {
    pub(super) port: Arc<Port>,
    pub(super) setup: Arc<Setup>,
}

/// How a turn ended.
pub(super) enum Turn {
    /// Nothing to do until an event or a deadline.
    Waiting,
    /// There is more to do; others go first.
    Unfinished,
    /// The connection is over.
    Over(Outcome),
}

/// Bytes that were read and not yet written.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    start: usize,
}

/// One connection with its sockets and what they hold.
pub(super) struct Carried {
    pub(super) key: Key,
    pub(super) logic: Connection,
    pub(super) live: Rc<LivePort>,
    /// Its last turn ended before its work did: it stands in the worker's queue, once.
    pub(super) queued: bool,
    peer: OwnedFd,
    app: Option<OwnedFd>,
    held: [Held; 2],
    read_size: [usize; 2],
    /// That side's stream has ended or failed: a short read does not mean "empty" any more.
    hung: [bool; 2],
    accepted: Tick,
    decided: Option<Instant>,
    /// The app's socket had an event while it was dialled.
    dial_answered: bool,
    tlvs: Vec<(Tlv, String)>,
}

impl Carried {
    /// Takes over an accepted socket and asks for its events.
    pub(super) fn new(
        key: Key,
        logic: Connection,
        live: Rc<LivePort>,
        peer: OwnedFd,
        now: Tick,
    ) -> Self {
        Self {
            key,
            logic,
            live,
            queued: false,
            peer,
            app: None,
            held: Default::default(),
            read_size: [READ_MIN; 2],
            hung: [false; 2],
            accepted: now,
            decided: None,
            dial_answered: false,
            tlvs: Vec::new(),
        }
    }

    /// Asks for the events of the peer's socket.
    pub(super) fn register(&self, epoll: &Epoll) -> Result<(), Errno> {
        epoll.add(
            &self.peer,
            EpollEvent::new(INTEREST, self.key.token(Side::Peer)),
        )
    }

    /// Takes note of an event.
    pub(super) fn ready(&mut self, side: Side, flags: EpollFlags) {
        let failed = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
        let hung = failed || flags.contains(EpollFlags::EPOLLRDHUP);
        self.hung[side as usize] |= hung;
        if side == Side::App && self.logic.is_dialing() {
            self.dial_answered |= failed || flags.contains(EpollFlags::EPOLLOUT);
            return;
        }
        if flags.contains(EpollFlags::EPOLLERR) {
            self.logic.failed(side);
        }
        let readable = hung || flags.contains(EpollFlags::EPOLLIN);
        let writable = failed || flags.contains(EpollFlags::EPOLLOUT);
        self.logic.ready(side, readable, writable);
    }

    /// Carries out commands until there is nothing to do, or for one turn.
    pub(super) fn advance(
        &mut self,
        epoll: &Epoll,
        counters: &Counters,
        scratch: &mut [u8],
        now: Tick,
    ) -> Turn {
        for _ in 0..TURN {
            match self.logic.next() {
                Command::ReceiveHeader => self.receive_header(scratch, now),
                Command::Dial(attempt) => self.dial(&attempt, epoll, counters, now),
                Command::Read(way) => self.read(way, scratch, counters, now),
                Command::Write(way) => self.write_held(way, counters, now),
                Command::Shut(way) => self.shut(way),
                Command::Wait if self.dial_answered => self.finish_dial(counters, now),
                Command::Wait => return Turn::Waiting,
                Command::End(outcome, ending) => {
                    self.prepare_close(ending);
                    return Turn::Over(outcome);
                }
            }
        }
        Turn::Unfinished
    }

    /// Receives behind what is here of the beginning, and lets the logic decide.
    fn receive_header(&mut self, scratch: &mut [u8], now: Tick) {
        let held = &mut self.held[Way::ToApp as usize].bytes;
        let have = held.len();
        scratch[..have].copy_from_slice(held);
        let n = match receive(&self.peer, &mut scratch[have..have + READ_MIN]) {
            Ok(0) => return self.logic.peer_ended(have),
            Ok(n) => n,
            Err(Errno::EAGAIN) => return self.logic.header_blocked(),
            Err(_) => return self.logic.peer_ended(have),
        };
        let bytes = &scratch[..have + n];
        let LivePort { port, setup } = &*self.live;
        match self.logic.received(bytes, &port.policy, &setup.own, now) {
            None => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            Some(skip) => {
                *held = bytes[skip..].to_vec();
                self.tlvs = tlvs(&bytes[..skip], &self.live);
            }
        }
    }

    fn dial(&mut self, attempt: &Attempt, epoll: &Epoll, counters: &Counters, now: Tick) {
        self.decided.get_or_insert_with(Instant::now);
        self.dial_answered = false;
        // The socket of an earlier step goes first, and its registration with it.
        self.app = None;
        self.hung[Side::App as usize] = false;
        let Dialled { socket, connected } = match socket::dial(attempt, self.live.setup.dialling) {
            Ok(dialled) => dialled,
            Err((call, errno)) => return self.logic.dial_failed(call, errno),
        };
        let event = EpollEvent::new(INTEREST, self.key.token(Side::App));
        if let Err(errno) = epoll.add(&socket, event) {
            return self.logic.dial_failed(Call::Socket, errno);
        }
        self.app = Some(socket);
        match connected {
            true => self.reached(counters, now),
            false => self.logic.dialing(),
        }
    }

    /// Reads the result of a dial whose socket had an event.
    fn finish_dial(&mut self, counters: &Counters, now: Tick) {
        self.dial_answered = false;
        let Some(app) = &self.app else { return };
        match getsockopt(app, sockopt::SocketError).map(Errno::from_raw) {
            Ok(Errno::UnknownErrno) => self.reached(counters, now),
            Ok(errno) | Err(errno) => self.logic.dial_failed(Call::Connect, errno),
        }
    }

    fn reached(&mut self, counters: &Counters, now: Tick) {
        let Some(app) = &self.app else { return };
        let local = match socket::local_name(app) {
            Ok(local) => local,
            Err(errno) => return self.logic.dial_failed(Call::Connect, errno),
        };
        self.logic.dialed(local, &self.live.port.policy, now);
        let took = self
            .decided
            .map(|decided| decided.elapsed())
            .unwrap_or_default();
        if let Some(attempt) = self.logic.dialled() {
            counters.record_dial(attempt.step, took);
            let v6_only = self.live.port.policy.apps.ipv4.is_none();
            counters
                .mapped_dials
                .add(u64::from(v6_only && attempt.destination.is_ipv4()));
        }
    }

    /// Reads once, and writes what came at once: most messages never touch a buffer of our own.
    fn read(&mut self, way: Way, scratch: &mut [u8], counters: &Counters, now: Tick) {
        let size = self.read_size[way as usize];
        let n = match receive(self.end(way.source()), &mut scratch[..size]) {
            Ok(n) => n,
            Err(Errno::EAGAIN) => return self.logic.read_blocked(way),
            Err(_) => return self.logic.read_failed(way),
        };
        self.logic.read(way, count(n), &self.live.port.policy, now);
        if n == 0 {
            return;
        }
        // Nothing was left, and what comes later makes a new edge; the end of the stream made its
        // edge already if it came before this read, so then we ask again.
        if n < size && !self.hung[way.source() as usize] {
            self.logic.read_blocked(way);
        }
        let written = self.write(way, &scratch[..n], counters, now);
        let size = &mut self.read_size[way as usize];
        match written {
            Some(written) if written < n => {
                self.held[way as usize] = Held {
                    bytes: scratch[written..n].to_vec(),
                    start: 0,
                };
                *size = READ_MIN;
            }
            Some(_) if n == *size => *size = (*size * 2).min(READ_MAX),
            _ => {}
        }
    }

    fn write_held(&mut self, way: Way, counters: &Counters, now: Tick) {
        let mut held = std::mem::take(&mut self.held[way as usize]);
        if let Some(written) = self.write(way, &held.bytes[held.start..], counters, now) {
            held.start += written;
            if held.start < held.bytes.len() {
                self.held[way as usize] = held;
            }
        }
    }

    /// Writes once; None when the sink failed. A short write means that it is full.
    fn write(&mut self, way: Way, bytes: &[u8], counters: &Counters, now: Tick) -> Option<usize> {
        let written = match transmit(self.end(way.sink()), bytes) {
            Ok(n) => n,
            Err(Errno::EAGAIN) => 0,
            Err(_) => {
                self.logic.write_failed(way);
                return None;
            }
        };
        if written > 0 {
            self.logic
                .wrote(way, count(written), &self.live.port.policy, now);
            counters.record_relayed(way, written);
        }
        if written < bytes.len() {
            self.logic.write_blocked(way);
        }
        Some(written)
    }

    fn shut(&mut self, way: Way) {
        // ENOTCONN: that side is gone already, and its own flow says so.
        let _ = shutdown(self.end(way.sink()).as_raw_fd(), Shutdown::Write);
        self.logic.shut(way);
    }

    /// The socket of one side. Relay commands come only after a dial succeeded.
    fn end(&self, side: Side) -> &OwnedFd {
        match (side, &self.app) {
            (Side::App, Some(app)) => app,
            _ => &self.peer,
        }
    }

    fn prepare_close(&self, ending: Ending) {
        if ending == Ending::Reset {
            socket::reset_on_close(&self.peer);
            self.app.iter().for_each(socket::reset_on_close);
        }
    }

    /// What the access log says of this connection.
    pub(super) fn record(mut self, outcome: Outcome, now: Tick) -> Record {
        Record {
            port: Arc::clone(&self.live.port.name),
            peer: self.logic.peer().address(),
            client: self.logic.client().map(|client| client.address()),
            version: self.logic.version(),
            dialled: self.logic.dialled(),
            tlvs: std::mem::take(&mut self.tlvs),
            outcome,
            moved: Way::BOTH.map(|way| self.logic.moved(way)),
            duration: Duration::from_millis(now.saturating_sub(self.accepted)),
        }
    }

    /// What `/connections` says of this connection.
    pub(super) fn open(&self, now: Tick) -> Open {
        Open {
            port: Arc::clone(&self.live.port.name),
            peer: self.logic.peer().address(),
            client: self.logic.client().map(|client| client.address()),
            stage: self.logic.stage(),
            age_ms: now.saturating_sub(self.accepted),
            bytes_to_app: self.logic.moved(Way::ToApp),
            bytes_to_client: self.logic.moved(Way::ToPeer),
        }
    }
}

/// The TLVs that this port's log wants of an accepted header.
fn tlvs(header: &[u8], live: &LivePort) -> Vec<(Tlv, String)> {
    let chosen = &live.setup.log_tlvs;
    if header.is_empty() || chosen.is_empty() {
        return Vec::new();
    }
    match proxyunwrap_header::parse(header, &live.port.policy.header.rules) {
        Ok(Progress::Complete(header)) => access_log::shown(header.tlvs(), chosen),
        _ => Vec::new(),
    }
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match recv(socket.as_raw_fd(), buffer, MsgFlags::empty()) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

fn transmit(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
