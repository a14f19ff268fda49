//! The io_uring back end: asks for something to be done, and is told that it was.
//!
//! What the kernel completed is put down with its connection ([`Inbox`], [`Outbox`]), and taken up
//! when the logic asks for it; "not completed yet" is the same to the logic as "would block". Bytes
//! are received into buffers that the kernel chooses when they come, and are sent from there.
//!
//! **Small messages are received by one request that goes on** (multishot), in buffers of 2 KiB. It goes
//! on while the sink is full, too, so what it may bring before it is taken back is bounded: 32 buffers
//! a wait. A side that fills such a buffer, or sends more before what it sent has been written, is
//! received from one request at a time, when the logic wants to read, until it sends little again.
//!
//! **Bulk is spliced by calls,** as in `epoll.rs`, when a poll says that there is something: the
//! kernel runs IORING_OP_SPLICE on threads of its own.

mod aspect;
mod completed;
mod inbox;

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
use super::socket;
use super::worker::Worker;
use crate::connection::{Side, Tick, Way};
use crate::sys::ring::{Buffer, Completion, Ring};
use aspect::Aspect;
use inbox::{Asked, Data, Inbox};

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
    /// A poll said that this side has something, and nothing was tried since.
    told: [bool; 2],
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

/// The size of what every connection has of the ring.
const _: () = assert!(size_of::<Link>() <= 168 && size_of::<Carried<Completions>>() <= 672);

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
        // What is received does not stop at urgent data, nor tell of it.
        socket::keep_urgent(carried.end(Side::App));
        // An app rarely speaks first.
        carried.link.inboxes[Side::App as usize] = Inbox {
            empty: true,
            ..Inbox::default()
        };
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
        let inbox = &mut carried.link.inboxes[Side::Peer as usize];
        match (inbox.take(), inbox.end, inbox.asked) {
            (Data::Came(buffer), ..) => Ok(copy(&buffer, place)),
            (Data::Kept(bytes), ..) => Ok(copy(&bytes, place)),
            (Data::Nothing, Some(end), _) => end.map(|()| 0),
            (Data::Nothing, None, Asked::Nothing) => {
                tools.backend.ask_once(carried, Side::Peer, READ_MIN);
                Err(Errno::EAGAIN)
            }
            // It is heard before its turn. What came is still in the socket if no completion is on its
            // way to us: the kernel receives only while we wait.
            (Data::Nothing, None, _) if !tools.backend.ring.has_completed() => {
                receive(&carried.peer, place)
            }
            (Data::Nothing, None, _) => Err(Errno::EAGAIN),
        }
    }

    /// What the peer has sent since is asked for when it is wanted.
    fn reached(_: &mut Carried<Self>) {}

    fn read(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>) {
        let inbox = &mut carried.link.inboxes[way.source() as usize];
        match (inbox.take(), inbox.end, inbox.asked) {
            (Data::Came(buffer), ..) => {
                carried.took(way, buffer.len(), tools);
                carried.link.outboxes[way as usize] = Outbox::Full(buffer);
            }
            (Data::Kept(bytes), ..) => {
                carried.took(way, bytes.len(), tools);
                carried.directions[way as usize].hold(&bytes);
            }
            (Data::Nothing, Some(Ok(())), _) => {
                carried.took(way, 0, tools);
                tools.backend.ended(carried, way);
            }
            (Data::Nothing, Some(Err(errno)), _) => carried.not_read(way, errno, tools),
            (Data::Nothing, None, Asked::Nothing) => carried.ask(way, tools),
            (Data::Nothing, None, _) => carried.logic.read_blocked(way),
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

    /// A buffer is for what goes on at once; there are few of them. Whoever sends before what it sent
    /// has gone is asked no more until then.
    fn settle(carried: &mut Carried<Self>, backend: &mut Self) {
        for side in [Side::Peer, Side::App] {
            let inbox = &mut carried.link.inboxes[side as usize];
            inbox.bulky |= !matches!(inbox.data, Data::Nothing);
            if let Data::Came(buffer) = &inbox.data {
                inbox.data = Data::Kept(buffer.to_vec());
            }
            if inbox.bulky && inbox.asked == Asked::Many {
                inbox.asked = Asked::Stop;
                let token = Source::Connection(carried.key, side).token();
                backend.ring.cancel_receive_many(token);
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

    fn ask_once(&mut self, carried: &mut Carried<Self>, side: Side, size: usize) {
        let token = Source::Connection(carried.key, side).token();
        let waits = carried.link.inboxes[side as usize].empty;
        self.ring.receive(carried.end(side), size, waits, token);
        carried.link.inboxes[side as usize].asked = Asked::Once;
    }

    fn ask_many(&mut self, carried: &mut Carried<Self>, side: Side) {
        let token = Source::Connection(carried.key, side).token();
        self.ring.receive_many(carried.end(side), token);
        carried.link.inboxes[side as usize].asked = Asked::Many;
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
        let asked = std::mem::take(&mut carried.link.inboxes[side as usize].asked);
        let token = Source::Connection(carried.key, side).token();
        match asked {
            Asked::Once => self.ring.cancel_receive(token),
            Asked::Many => self.ring.cancel_receive_many(token),
            Asked::Nothing | Asked::Stop => {}
        }
        for aspect in Aspect::ALL {
            if polls & aspect.bit() != 0 {
                self.ring.cancel_poll(aspect.token(carried.key, side));
            }
        }
        asked != Asked::Nothing || polls != 0
    }
}

fn copy(bytes: &[u8], place: &mut [u8]) -> usize {
    place[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}
