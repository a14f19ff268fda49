//! Carries out one connection's commands on its sockets.

use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{Shutdown, getsockopt, shutdown, sockopt};
use proxyunwrap_header::Progress;

use super::backend::Backend;
use super::pipes::Pipes;
use super::places::Key;
use super::relay::Direction;
use super::socket::{self, Dialled, Reached};
use super::{Open, Setup};
use crate::access_log::{self, Record, Tlv};
use crate::config::Port;
use crate::connection::ladder::{Attempt, Call};
use crate::connection::outcome::Outcome;
use crate::connection::{Command, Connection, Ending, Side, Tick, Way};
use crate::counters::Counters;
use crate::sys;

/// Commands of one connection before the others get their turn.
const TURN: usize = 32;

/// What a worker lends to the connection whose turn it is.
pub(super) struct Tools<'a, B> {
    pub(super) backend: &'a mut B,
    pub(super) counters: &'a Counters,
    pub(super) scratch: &'a mut [u8],
    pub(super) pipes: &'a mut Pipes,
    pub(super) now: Tick,
}

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

/// One connection with its sockets and what they hold.
pub(super) struct Carried<B: Backend> {
    pub(super) key: Key,
    pub(super) logic: Connection,
    pub(super) live: Rc<LivePort>,
    /// Its last turn ended before its work did: it stands in the worker's queue, once.
    pub(super) queued: bool,
    pub(super) peer: OwnedFd,
    pub(super) app: Option<OwnedFd>,
    pub(super) directions: [Direction; 2],
    pub(super) link: B::Link,
    /// The app's socket sends small segments at once (TCP_NODELAY).
    pub(super) hurries: bool,
    /// That side's socket has an error: it is closed already.
    pub(super) dead: [bool; 2],
    /// That side sends urgent data: a read stops at it though more is behind, and splice(2) does not go on
    /// (tcp_recvmsg_locked and __tcp_read_sock, net/ipv4/tcp.c).
    pub(super) urgent: [bool; 2],
    /// The next read of that side is not spliced.
    pub(super) receives: [bool; 2],
    accepted: Tick,
    decided: Option<Instant>,
    /// The app's socket had an event while it was dialled.
    pub(super) dial_answered: bool,
    tlvs: Vec<(Tlv, String)>,
}

impl<B: Backend> Carried<B> {
    /// Takes over an accepted socket.
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
            directions: Default::default(),
            link: B::Link::default(),
            hurries: false,
            dead: [false; 2],
            urgent: [false; 2],
            receives: [false; 2],
            accepted: now,
            decided: None,
            dial_answered: false,
            tlvs: Vec::new(),
        }
    }

    /// Carries out commands until there is nothing to do, or for one turn.
    pub(super) fn advance(&mut self, tools: &mut Tools<'_, B>) -> Turn {
        for _ in 0..TURN {
            match self.logic.next() {
                Command::ReceiveHeader => self.receive_header(tools),
                Command::Dial(attempt) => {
                    self.dial(&attempt, &[], tools);
                }
                Command::Read(way) => B::read(self, way, tools),
                Command::Write(way) => B::write(self, way, tools),
                Command::Shut(way) => self.shut(way),
                Command::Wait if self.dial_answered => self.finish_dial(tools),
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
    fn receive_header(&mut self, tools: &mut Tools<'_, B>) {
        let have = self.directions[Way::ToApp as usize].restore(tools.scratch);
        let n = match B::receive(self, have, tools) {
            Ok(0) => return self.logic.peer_ended(have),
            Ok(n) => n,
            Err(Errno::EAGAIN) => return self.logic.header_blocked(),
            Err(_) => return self.logic.peer_ended(have),
        };
        let held = &mut self.directions[Way::ToApp as usize];
        let bytes = &tools.scratch[..have + n];
        let LivePort { port, setup } = &*self.live;
        match self
            .logic
            .received(bytes, &port.policy, &setup.own, tools.now)
        {
            None => held.hold(bytes),
            Some(skip) => {
                held.release();
                self.tlvs = tlvs(&bytes[..skip], &self.live);
                self.begin(skip..have + n, tools);
            }
        }
    }

    /// Dials, and hands over the payload that came behind the header from where it is, if the app is
    /// reached at once.
    fn begin(&mut self, payload: Range<usize>, tools: &mut Tools<'_, B>) {
        let scratch = std::mem::take(&mut tools.scratch);
        let payload = &scratch[payload];
        let mut written = 0;
        while let Command::Dial(attempt) = self.logic.next() {
            written = self.dial(&attempt, payload, tools);
        }
        self.directions[Way::ToApp as usize].hold(&payload[written..]);
        tools.scratch = scratch;
    }

    /// Dials; answers how much of the payload the app has taken already.
    fn dial(&mut self, attempt: &Attempt, payload: &[u8], tools: &mut Tools<'_, B>) -> usize {
        self.decided.get_or_insert_with(Instant::now);
        self.dial_answered = false;
        // The socket of an earlier step goes first.
        tools.backend.forget_app(self);
        self.dead[Side::App as usize] = false;
        let dialled = socket::dial(attempt, self.live.setup.dialling, payload);
        match dialled.and_then(|dialled| self.watch(dialled, tools)) {
            Ok(Reached::Later) => self.logic.dialing(),
            Ok(Reached::At(local, written)) => {
                self.reached(local, tools);
                // Not if the kernel chose another source: then nothing was sent.
                if written > 0 {
                    self.wrote(Way::ToApp, written, tools);
                }
                return written;
            }
            Err((call, errno)) => self.logic.dial_failed(call, errno),
        }
        0
    }

    /// Asks for the events of the app's socket.
    fn watch(
        &mut self,
        dialled: Dialled,
        tools: &mut Tools<'_, B>,
    ) -> Result<Reached, (Call, Errno)> {
        let Dialled { socket, reached } = dialled;
        let later = matches!(reached, Reached::Later);
        self.app = Some(socket);
        let watched = tools.backend.dialled(self, !later);
        watched.map_err(|errno| (Call::Socket, errno))?;
        Ok(reached)
    }

    /// Reads the result of a dial whose socket had an event.
    fn finish_dial(&mut self, tools: &Tools<'_, B>) {
        self.dial_answered = false;
        let Some(app) = &self.app else { return };
        let result = getsockopt(app, sockopt::SocketError).map(Errno::from_raw);
        let local = match result {
            Ok(Errno::UnknownErrno) => socket::local_name(app),
            Ok(errno) | Err(errno) => Err(errno),
        };
        match local {
            Ok(local) => self.reached(local, tools),
            Err(errno) => self.logic.dial_failed(Call::Connect, errno),
        }
    }

    fn reached(&mut self, local: SocketAddr, tools: &Tools<'_, B>) {
        self.logic.dialed(local, &self.live.port.policy, tools.now);
        B::reached(self);
        let took = self
            .decided
            .map(|decided| decided.elapsed())
            .unwrap_or_default();
        if let Some(attempt) = self.logic.dialled() {
            tools.counters.record_dial(attempt.step, took);
            let v6_only = self.live.port.policy.apps.ipv4.is_none();
            let mapped = v6_only && attempt.destination.is_ipv4();
            tools.counters.mapped_dials.add(u64::from(mapped));
        }
    }

    /// The sink is full: we are told when there is room.
    pub(super) fn blocked(&mut self, way: Way, tools: &mut Tools<'_, B>) {
        self.logic.write_blocked(way);
        tools.backend.await_room(self, way.sink());
    }

    fn shut(&mut self, way: Way) {
        // ENOTCONN: that side is gone already, and its own flow says so.
        let _ = shutdown(self.end(way.sink()).as_raw_fd(), Shutdown::Write);
        self.logic.shut(way);
    }

    /// The socket of one side. Relay commands come only after a dial succeeded.
    pub(super) fn end(&self, side: Side) -> &OwnedFd {
        match (side, &self.app) {
            (Side::App, Some(app)) => app,
            _ => &self.peer,
        }
    }

    /// Urgent data has come from a side.
    pub(super) fn heed_urgent(&mut self, side: Side) {
        if !std::mem::replace(&mut self.urgent[side as usize], true) && side == Side::App {
            socket::keep_urgent(self.end(side));
        }
    }

    fn prepare_close(&self, ending: Ending) {
        if ending == Ending::Close {
            return;
        }
        for (side, socket) in [
            (Side::Peer, Some(&self.peer)),
            (Side::App, self.app.as_ref()),
        ] {
            if let Some(socket) = socket.filter(|_| !self.dead[side as usize]) {
                socket::reset_on_close(socket);
            }
        }
    }

    /// What the access log says of this connection, which has ended.
    pub(super) fn record(&mut self, outcome: Outcome, now: Tick) -> Record {
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

pub(super) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match sys::receive(socket, buffer) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

pub(super) fn transmit(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match sys::transmit(socket, bytes) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
