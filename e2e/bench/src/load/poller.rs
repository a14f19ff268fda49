//! epoll with room for what it finds, so that a wait allocates nothing.

use std::os::fd::AsFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

const EVENTS: usize = 256;

/// Many sockets, each known by a number.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Poller {
    pub(crate) fn new() -> nix::Result<Self> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            events: vec![EpollEvent::empty(); EVENTS],
        })
    }

    pub(crate) fn add(&self, fd: impl AsFd, number: usize, flags: EpollFlags) -> nix::Result<()> {
        self.epoll.add(fd, EpollEvent::new(flags, number as u64))
    }

    pub(crate) fn change(
        &self,
        fd: impl AsFd,
        number: usize,
        flags: EpollFlags,
    ) -> nix::Result<()> {
        let mut event = EpollEvent::new(flags, number as u64);
        self.epoll.modify(fd, &mut event)
    }

    /// A socket that nothing more is wanted of; the kernel forgets it at its close anyway.
    pub(crate) fn forget(&self, fd: impl AsFd) {
        let _ = self.epoll.delete(fd);
    }

    /// How many are ready; none when time is up or a signal came.
    pub(crate) fn wait(&mut self, patience: EpollTimeout) -> usize {
        self.epoll.wait(&mut self.events, patience).unwrap_or(0)
    }

    /// The number of the `ready`th, and what it is ready for.
    pub(crate) fn event(&self, ready: usize) -> (usize, EpollFlags) {
        let event = self.events[ready];
        (
            usize::try_from(event.data()).unwrap_or(usize::MAX),
            event.events(),
        )
    }
}
