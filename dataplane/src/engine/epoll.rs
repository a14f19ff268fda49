//! The epoll back end: told what a socket is ready for, it calls.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::Mailbox;
use super::backend::Backend;
use super::carry::{Carried, Tools, receive};
use super::event::Source;
use super::listener::Listener;
use super::pace::READ_MIN;
use super::worker::Worker;
use crate::connection::{Side, Tick, Way};
use crate::sys;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// What we want to know of a socket, once: edges come by themselves from then on. Whether it can be
/// written is asked when it could not be.
const INTEREST: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLPRI)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);

/// A worker's epoll.
pub(super) struct Readiness {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    /// How many of them the last wait brought.
    came: usize,
}

/// What epoll knows and said of a connection's sides.
#[derive(Default)]
pub(super) struct Link {
    /// Its socket is watched for room, too.
    watched: [bool; 2],
    /// Its stream has ended or failed: a short read does not mean "empty" any more.
    hung: [bool; 2],
    /// The peer had sent nothing more when the header was read, and no event has told of more.
    drained: bool,
}

/// What an idle connection costs us in user space; the kernel's two sockets are about 8 KB.
const _: () = assert!(size_of::<Carried<Readiness>>() <= 576);

impl Backend for Readiness {
    type Link = Link;

    fn new(mailbox: &Mailbox) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, Source::Mailbox.token());
        epoll.add(mailbox.wake.as_fd(), event)?;
        Ok(Self {
            epoll,
            events: vec![EpollEvent::empty(); EVENTS],
            came: 0,
        })
    }

    fn wait(&mut self, limit: Option<Tick>) {
        let millis = limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let timeout = millis.map_or(EpollTimeout::NONE, |limit| {
            EpollTimeout::try_from(limit).unwrap_or(EpollTimeout::ZERO)
        });
        self.came = match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => {
                // Only a bug can bring EBADF or EINVAL here; without events nothing works.
                tracing::error!(%errno, "epoll_wait failed; ending");
                std::process::abort();
            }
        };
    }

    fn deliver(worker: &mut Worker<Self>) {
        for index in 0..worker.backend.came {
            let event = worker.backend.events[index];
            match Source::of(event.data()) {
                Source::Mailbox => worker.read_mail(),
                Source::Listener(key) => worker.accept_from(key),
                Source::Connection(key, side) => {
                    worker.tell(key, |carried| carried.ready(side, event.events()));
                }
            }
        }
    }

    fn listen(&mut self, listener: &mut Listener) -> Result<(), Errno> {
        let token = Source::Listener(listener.key).token();
        let mut event = EpollEvent::new(EpollFlags::EPOLLIN, token);
        match std::mem::replace(&mut listener.watched, true) {
            false => self.epoll.add(&listener.fd, event),
            true => self.epoll.modify(&listener.fd, &mut event),
        }
    }

    fn rest(&mut self, listener: &mut Listener) {
        let token = Source::Listener(listener.key).token();
        let mut event = EpollEvent::new(EpollFlags::empty(), token);
        // It was added with the listener, so only lack of memory can fail; then the old wish stands,
        // and the next pause tries again.
        let _ = self.epoll.modify(&listener.fd, &mut event);
    }

    fn end(&mut self, listener: Listener) {
        drop(listener);
    }

    fn adopt(&mut self, carried: &Carried<Self>) -> Result<(), Errno> {
        let token = Source::Connection(carried.key, Side::Peer).token();
        self.epoll
            .add(&carried.peer, EpollEvent::new(INTEREST, token))
    }

    fn dialled(&mut self, carried: &mut Carried<Self>, connected: bool) -> Result<(), Errno> {
        let interest = match connected {
            true => INTEREST,
            false => INTEREST | EpollFlags::EPOLLOUT,
        };
        carried.link.watched[Side::App as usize] = !connected;
        let token = Source::Connection(carried.key, Side::App).token();
        let event = EpollEvent::new(interest, token);
        self.epoll.add(carried.end(Side::App), event)
    }

    /// Its registration goes with it.
    fn forget_app(&mut self, carried: &mut Carried<Self>) {
        carried.app = None;
        carried.link.hung[Side::App as usize] = false;
    }

    /// What is registered goes with the sockets.
    fn close(&mut self, carried: Carried<Self>) {
        if let Some(app) = carried.app {
            sys::close_both(carried.peer, app);
        }
    }

    fn receive(
        carried: &mut Carried<Self>,
        from: usize,
        tools: &mut Tools<'_, Self>,
    ) -> Result<usize, Errno> {
        let n = receive(&carried.peer, &mut tools.scratch[from..from + READ_MIN])?;
        let peer = Side::Peer as usize;
        carried.link.drained = n < READ_MIN && !carried.link.hung[peer] && !carried.urgent[peer];
        Ok(n)
    }

    fn reached(carried: &mut Carried<Self>) {
        if carried.link.drained {
            carried.logic.read_blocked(Way::ToApp);
        }
    }

    /// Reads once, and writes what came at once: most messages never touch a buffer of our own.
    fn read(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>) {
        match carried.pipe(way, tools) {
            Some(pipe) => drop(carried.splice(way, pipe, tools)),
            None => carried.copy(way, tools),
        }
    }

    fn write(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>) {
        carried.write_held(way, tools);
    }

    fn settle(_: &mut Carried<Self>, _: &mut Self) {}

    /// Its edges come by themselves.
    fn await_source(&mut self, _: &mut Carried<Self>, _: Way) {}

    /// So do these.
    fn ended(&mut self, _: &mut Carried<Self>, _: Way) {}

    fn await_room(&mut self, carried: &mut Carried<Self>, side: Side) {
        if !std::mem::replace(&mut carried.link.watched[side as usize], true) {
            let token = Source::Connection(carried.key, side).token();
            let mut event = EpollEvent::new(INTEREST | EpollFlags::EPOLLOUT, token);
            // Changing a registration looks at the socket anew, so room that came meanwhile is told.
            // It fails only without a registration, and then the socket is gone.
            let _ = self.epoll.modify(carried.end(side), &mut event);
        }
    }
}

impl Carried<Readiness> {
    /// Takes note of an event.
    fn ready(&mut self, side: Side, flags: EpollFlags) {
        if flags.contains(EpollFlags::EPOLLPRI) {
            self.heed_urgent(side);
        }
        let failed = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
        let hung = failed || flags.contains(EpollFlags::EPOLLRDHUP);
        self.link.hung[side as usize] |= hung;
        if side == Side::App && self.logic.is_dialing() {
            self.dial_answered |= failed || flags.contains(EpollFlags::EPOLLOUT);
            return;
        }
        if flags.contains(EpollFlags::EPOLLERR) {
            self.dead[side as usize] = true;
            self.logic.failed(side);
        }
        let readable = hung || flags.contains(EpollFlags::EPOLLIN);
        self.link.drained &= side == Side::App || !readable;
        let writable = failed || flags.contains(EpollFlags::EPOLLOUT);
        self.logic.ready(side, readable, writable);
    }

    fn copy(&mut self, way: Way, tools: &mut Tools<'_, Readiness>) {
        let size = self.directions[way as usize].pace.read_size();
        let n = match receive(self.end(way.source()), &mut tools.scratch[..size]) {
            Ok(n) => n,
            Err(errno) => return self.not_read(way, errno, tools),
        };
        self.took(way, n, tools);
        if n == 0 {
            return;
        }
        // Nothing was left, and what comes later makes a new edge; the end of the stream made its
        // edge already if it came before this read, so then we ask again.
        let side = way.source() as usize;
        if n < size && !self.link.hung[side] && !self.urgent[side] {
            self.logic.read_blocked(way);
        }
        let scratch = std::mem::take(&mut tools.scratch);
        let written = self.write(way, &scratch[..n], tools);
        let direction = &mut self.directions[way as usize];
        match written {
            Some(written) if written < n => {
                direction.hold(&scratch[written..n]);
                direction.pace.refused();
            }
            Some(_) => direction.pace.kept_up(n),
            None => {}
        }
        tools.scratch = scratch;
    }
}
