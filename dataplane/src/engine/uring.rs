//! The io_uring back end: asks for something to be done, and is told that it was.
//!
//! What the kernel completed is put down with its connection ([`Inbox`], [`Outbox`]), and taken up
//! when the logic asks for it; "not completed yet" is the same to the logic as "would block". Bytes
//! are received into buffers that the kernel chooses when they come, and are sent from there.
//!
//! **Receives are single, not multishot.** A multishot receive goes on while the sink is full: up to 32
//! buffers a wait, of which each would have to be kept somewhere. A single one is asked for when the
//! logic wants to read, so at most one buffer a direction is held, and nothing has to be taken back.
//! What multishot saves, arming the same poll again, is a small part of a round trip.
//!
//! **Bulk is spliced by calls,** as in `epoll.rs`, when a poll says that there is something: the
//! kernel runs IORING_OP_SPLICE on threads of its own.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::PollFlags;

use super::Mailbox;
use super::backend::Backend;
use super::carry::{Carried, Tools, receive};
use super::event::Source;
use super::listener::Listener;
use super::pace::READ_MIN;
use super::places::Key;
use super::worker::Worker;
use crate::connection::{Side, Tick, Way};
use crate::sys::ring::{Buffer, Completion, Done, Ring, Token};

/// A worker's ring.
pub(super) struct Completions {
    ring: Ring,
    /// Listeners at which somebody waits, of this turn.
    knocks: Vec<Key>,
}

/// What the ring knows and said of a connection.
#[derive(Default)]
pub(super) struct Link {
    /// By the side that bytes come from.
    inboxes: [Inbox; 2],
    /// By the way that bytes go.
    outboxes: [Outbox; 2],
    /// Polls of each side that are not completed.
    polls: [u8; 2],
    /// That side had nothing more when it was last received from.
    empty: [bool; 2],
}

/// How receiving from a side stands.
#[derive(Default)]
enum Inbox {
    /// Nothing was asked for.
    #[default]
    Idle,
    /// The kernel was asked.
    Asked,
    /// This came.
    Came(Buffer),
    /// This came, and is not wanted yet.
    Kept(Box<[u8]>),
    /// The stream's end came.
    Ended,
    /// It failed.
    Failed(Errno),
}

/// How sending one way stands.
#[derive(Default)]
enum Outbox {
    /// There is nothing, or it is held elsewhere.
    #[default]
    Empty,
    /// This is to be sent.
    Full(Buffer),
    /// The kernel has it.
    Sending,
    /// So much of it was sent.
    Sent(Result<u32, Errno>, Buffer),
}

/// What a poll is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aspect {
    /// There is something to read.
    Readable,
    /// There is room to write, or the dial was answered.
    Writable,
    /// The socket has an error. For a side whose stream has ended: no receive will tell.
    Broken,
}

/// The size of what every connection has of the ring.
const _: () = assert!(size_of::<Link>() <= 104 && size_of::<Carried<Completions>>() <= 608);

impl Backend for Completions {
    type Link = Link;

    fn new(mailbox: &Mailbox) -> io::Result<Self> {
        let mut backend = Self {
            ring: Ring::new()?,
            knocks: Vec::new(),
        };
        backend.await_mail(mailbox);
        Ok(backend)
    }

    fn wait(&mut self, limit: Option<Tick>) {
        if let Err(errno) = self.ring.wait(limit.map(Duration::from_millis)) {
            // Only a bug can bring EBADF or EINVAL here; without completions nothing works.
            tracing::error!(%errno, "io_uring_enter failed; ending");
            std::process::abort();
        }
    }

    /// First everything is put down where it belongs, so that whoever has sent something counts as
    /// heard; then connections get their turn, and only then newcomers come in.
    fn deliver(worker: &mut Worker<Self>) {
        let mut has_mail = false;
        while let Some(Completion { token, done }) = worker.backend.ring.completed() {
            match (Source::of(token), done) {
                (Source::Mailbox, _) => has_mail = true,
                (Source::Listener(key), _) => worker.backend.knocks.push(key),
                (Source::Connection(key, side), done) => {
                    worker.note(key, |carried| carried.put_down(side, token, done));
                }
            }
        }
        worker.take_turns();
        let mut knocks = std::mem::take(&mut worker.backend.knocks);
        knocks.drain(..).for_each(|key| worker.answer(key));
        worker.backend.knocks = knocks;
        if has_mail {
            worker.read_mail();
            worker.backend.await_mail(&worker.parts.mailbox);
        }
    }

    /// Asks once: a listener at which somebody still waits answers at once.
    fn listen(&mut self, listener: &mut Listener) -> Result<(), Errno> {
        if !std::mem::replace(&mut listener.watched, true) {
            let token = Source::Listener(listener.key).token();
            self.ring.poll(&listener.fd, PollFlags::POLLIN, token);
        }
        Ok(())
    }

    /// It tells once more at most, and is not asked again.
    fn rest(&mut self, _: &mut Listener) {}

    fn end(&mut self, listener: Listener) {
        if listener.watched {
            self.ring
                .cancel_poll(Source::Listener(listener.key).token());
        }
        self.ring.close(listener.fd);
    }

    /// It is asked when the logic wants something of it.
    fn adopt(&mut self, _: &Carried<Self>) -> Result<(), Errno> {
        Ok(())
    }

    fn dialled(&mut self, carried: &mut Carried<Self>, connected: bool) -> Result<(), Errno> {
        // An app rarely speaks first.
        carried.link.empty[Side::App as usize] = true;
        if !connected {
            self.poll(carried, Side::App, Aspect::Writable);
        }
        Ok(())
    }

    /// At once if it can be: the next step of the dial may want the same name.
    fn forget_app(&mut self, carried: &mut Carried<Self>) {
        let Some(app) = carried.app.take() else {
            return;
        };
        match self.take_back(carried, Side::App) {
            true => self.ring.close(app),
            false => drop(app),
        }
    }

    fn close(&mut self, mut carried: Carried<Self>) {
        self.take_back(&mut carried, Side::Peer);
        self.take_back(&mut carried, Side::App);
        self.ring.close(carried.peer);
        carried.app.into_iter().for_each(|app| self.ring.close(app));
    }

    fn receive(
        carried: &mut Carried<Self>,
        from: usize,
        tools: &mut Tools<'_, Self>,
    ) -> Result<usize, Errno> {
        let place = &mut tools.scratch[from..from + READ_MIN];
        match std::mem::take(&mut carried.link.inboxes[Side::Peer as usize]) {
            Inbox::Idle => {
                tools.backend.ask(carried, Side::Peer, READ_MIN);
                Err(Errno::EAGAIN)
            }
            // It is heard before its turn. What came is still in the socket if no completion is on its
            // way to us: the kernel receives only while we wait.
            Inbox::Asked => {
                carried.link.inboxes[Side::Peer as usize] = Inbox::Asked;
                match tools.backend.ring.has_completed() {
                    true => Err(Errno::EAGAIN),
                    false => receive(&carried.peer, place),
                }
            }
            Inbox::Came(buffer) => {
                place[..buffer.len()].copy_from_slice(&buffer);
                Ok(buffer.len())
            }
            Inbox::Kept(bytes) => {
                place[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Inbox::Ended => Ok(0),
            Inbox::Failed(errno) => Err(errno),
        }
    }

    /// What the peer has sent since is asked for when it is wanted.
    fn reached(_: &mut Carried<Self>) {}

    fn read(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>) {
        let side = way.source();
        match std::mem::take(&mut carried.link.inboxes[side as usize]) {
            Inbox::Idle => match carried.pipe(way, tools) {
                Some(pipe) => carried.splice(way, pipe, tools),
                None => {
                    let size = carried.directions[way as usize].pace.read_size();
                    tools.backend.ask(carried, side, size);
                    carried.logic.read_blocked(way);
                }
            },
            Inbox::Asked => {
                carried.link.inboxes[side as usize] = Inbox::Asked;
                carried.logic.read_blocked(way);
            }
            Inbox::Came(buffer) => {
                carried.took(way, buffer.len(), tools);
                carried.link.outboxes[way as usize] = Outbox::Full(buffer);
            }
            Inbox::Kept(bytes) => {
                carried.took(way, bytes.len(), tools);
                carried.directions[way as usize].hold(&bytes);
            }
            Inbox::Ended => {
                carried.took(way, 0, tools);
                tools.backend.ended(carried, way);
            }
            Inbox::Failed(errno) => carried.not_read(way, errno, tools),
        }
    }

    fn write(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>) {
        match std::mem::take(&mut carried.link.outboxes[way as usize]) {
            Outbox::Empty => carried.write_held(way, tools),
            Outbox::Full(buffer) => {
                carried.hurry(way);
                let token = Source::Connection(carried.key, way.source()).token();
                let sink = carried.end(way.sink());
                tools.backend.ring.send(sink, buffer, token);
                carried.link.outboxes[way as usize] = Outbox::Sending;
                carried.logic.write_blocked(way);
            }
            Outbox::Sending => {
                carried.link.outboxes[way as usize] = Outbox::Sending;
                carried.logic.write_blocked(way);
            }
            Outbox::Sent(result, buffer) => carried.sent(way, result, &buffer, tools),
        }
    }

    /// A buffer is for what goes on at once; there are few of them.
    fn settle(carried: &mut Carried<Self>) {
        for inbox in &mut carried.link.inboxes {
            if let Inbox::Came(buffer) = inbox {
                *inbox = Inbox::Kept((**buffer).into());
            }
        }
    }

    fn await_source(&mut self, carried: &mut Carried<Self>, way: Way) {
        self.poll(carried, way.source(), Aspect::Readable);
    }

    fn await_room(&mut self, carried: &mut Carried<Self>, side: Side) {
        self.poll(carried, side, Aspect::Writable);
    }

    fn ended(&mut self, carried: &mut Carried<Self>, way: Way) {
        // An app that fails afterwards is told by the next write.
        if way.source() == Side::Peer {
            self.poll(carried, Side::Peer, Aspect::Broken);
        }
    }
}

impl Completions {
    fn await_mail(&mut self, mailbox: &Mailbox) {
        let token = Source::Mailbox.token();
        self.ring
            .poll(&mailbox.wake.as_fd(), PollFlags::POLLIN, token);
    }

    fn ask(&mut self, carried: &mut Carried<Self>, side: Side, size: usize) {
        let token = Source::Connection(carried.key, side).token();
        let waits = carried.link.empty[side as usize];
        self.ring.receive(carried.end(side), size, waits, token);
        carried.link.inboxes[side as usize] = Inbox::Asked;
    }

    fn poll(&mut self, carried: &mut Carried<Self>, side: Side, aspect: Aspect) {
        let polls = carried.link.polls[side as usize];
        if polls & aspect.bit() == 0 {
            carried.link.polls[side as usize] = polls | aspect.bit();
            let token = aspect.token(carried.key, side);
            let (socket, wanted) = (carried.end(side), aspect.wanted());
            match aspect {
                Aspect::Readable => self.ring.poll(socket, wanted, token),
                // A stream that has ended completes every poll at once, but a watch only once.
                Aspect::Writable | Aspect::Broken => self.ring.watch(socket, wanted, token),
            }
        }
    }

    /// Takes back everything that was asked of a side; false if that was nothing.
    fn take_back(&mut self, carried: &mut Carried<Self>, side: Side) -> bool {
        let polls = std::mem::take(&mut carried.link.polls[side as usize]);
        let inbox = std::mem::take(&mut carried.link.inboxes[side as usize]);
        let asked = matches!(inbox, Inbox::Asked);
        if asked {
            let token = Source::Connection(carried.key, side).token();
            self.ring.cancel_receive(token);
        }
        for aspect in Aspect::ALL {
            if polls & aspect.bit() != 0 {
                self.ring.cancel_poll(aspect.token(carried.key, side));
            }
        }
        asked || polls != 0
    }
}

impl Carried<Completions> {
    /// Puts down what was completed.
    fn put_down(&mut self, side: Side, token: Token, done: Done) {
        match done {
            Done::Received(result, more) => self.received(side, result, more),
            Done::Sent(result, buffer) => {
                let way = Way::BOTH.into_iter().find(|way| way.source() == side);
                let Some(way) = way else { return };
                self.link.outboxes[way as usize] = Outbox::Sent(result, buffer);
                self.logic.ready(way.sink(), false, true);
            }
            Done::Polled(conditions, more) => self.polled(side, token, conditions, more),
        }
    }

    fn received(&mut self, side: Side, result: Result<Option<Buffer>, Errno>, more: bool) {
        self.link.empty[side as usize] = !more;
        self.link.inboxes[side as usize] = match result {
            Ok(Some(buffer)) => Inbox::Came(buffer),
            Ok(None) => Inbox::Ended,
            // No buffer was free, or a signal came: it is asked for again.
            Err(Errno::ENOBUFS | Errno::EINTR | Errno::EAGAIN) => Inbox::Idle,
            Err(errno) => {
                self.dead[side as usize] = true;
                Inbox::Failed(errno)
            }
        };
        self.logic.ready(side, true, false);
    }

    fn polled(
        &mut self,
        side: Side,
        token: Token,
        conditions: Result<PollFlags, Errno>,
        more: bool,
    ) {
        let Some(aspect) = Aspect::of(token) else {
            return;
        };
        // A poll that ended for want of memory asks the socket itself.
        let mut conditions = conditions.unwrap_or(PollFlags::POLLHUP);
        if !more {
            self.link.polls[side as usize] &= !aspect.bit();
            conditions |= aspect.wanted();
        }
        if conditions.contains(PollFlags::POLLERR) {
            self.dead[side as usize] = true;
            self.logic.failed(side);
        }
        let failed = conditions.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
        let readable = failed || conditions.contains(PollFlags::POLLIN);
        let writable = failed || conditions.contains(PollFlags::POLLOUT);
        if side == Side::App && self.logic.is_dialing() {
            self.dial_answered |= writable;
        } else {
            self.logic.ready(side, readable, writable);
        }
    }

    /// What the sink did not take is copied, so that the buffer is free for others.
    fn sent(
        &mut self,
        way: Way,
        result: Result<u32, Errno>,
        buffer: &[u8],
        tools: &mut Tools<'_, Completions>,
    ) {
        let n = match result {
            Ok(n) => (n as usize).min(buffer.len()),
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(_) => return self.logic.write_failed(way),
        };
        if n > 0 {
            self.wrote(way, n, tools);
        }
        let direction = &mut self.directions[way as usize];
        if n == buffer.len() {
            return direction.pace.kept_up(n);
        }
        direction.hold(&buffer[n..]);
        direction.pace.refused();
        self.blocked(way, tools);
    }
}

/// Where a token says what a poll is for: above what [`Source`] needs.
const ASPECT: u32 = 58;

impl Aspect {
    const ALL: [Self; 3] = [Self::Readable, Self::Writable, Self::Broken];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn token(self, key: Key, side: Side) -> Token {
        (self as Token) << ASPECT | Source::Connection(key, side).token()
    }

    fn wanted(self) -> PollFlags {
        match self {
            Self::Readable => PollFlags::POLLIN,
            Self::Writable => PollFlags::POLLOUT,
            Self::Broken => PollFlags::empty(),
        }
    }

    fn of(token: Token) -> Option<Self> {
        let aspect = |each: &Self| *each as Token == token >> ASPECT;
        Self::ALL.into_iter().find(aspect)
    }
}
