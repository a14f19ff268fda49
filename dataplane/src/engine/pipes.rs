//! A worker's pipes, through which bulk is spliced.
//!
//! They belong to the worker, not to connections: a direction borrows one for a read, and keeps it
//! only while its sink takes nothing more. An idle connection has none. The pages of all pipes of a
//! user id are limited together (/proc/sys/fs/pipe-user-pages-soft, 16,384), over all containers of
//! a node; beyond that new pipes have two pages (alloc_pipe_info, fs/pipe.c), which are no use here.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;

use crate::connection::Tick;

/// Pipes of one worker. With these sizes 16 workers take half of what a user may have.
const MOST: usize = 16;

/// Bytes that a pipe holds if we may choose, and the least with which one is of use.
const WANTED: i32 = 256 << 10;
const LEAST: i32 = 64 << 10;

/// How long no pipe is asked for after one was refused, in milliseconds.
const REST: Tick = 1_000;

/// One pipe. Whoever drops it with something in it drops that, too.
pub(super) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    size: usize,
    _counted: Counted,
}

/// Counts a pipe for as long as it lives.
struct Counted(Rc<Cell<usize>>);

impl Counted {
    fn new(made: &Rc<Cell<usize>>) -> Self {
        made.set(made.get() + 1);
        Self(Rc::clone(made))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The pipes that are not in use, and how many there are.
pub(super) struct Pipes {
    spare: Vec<Pipe>,
    made: Rc<Cell<usize>>,
    rests_until: Tick,
    refused: usize,
}

impl Pipe {
    fn new(made: &Rc<Cell<usize>>) -> Option<Self> {
        let (out, into) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).ok()?;
        // What we get is asked for afterwards.
        let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(WANTED));
        let size = fcntl(&into, FcntlArg::F_GETPIPE_SZ).ok()?;
        let size = (size >= LEAST).then(|| usize::try_from(size).ok())??;
        let _counted = Counted::new(made);
        Some(Self {
            out,
            into,
            size,
            _counted,
        })
    }

    /// Moves what a socket has into the pipe, which must be empty: EAGAIN then means that the socket
    /// has nothing. 0 is the end of its stream.
    ///
    /// # Errors
    /// Those of splice(2).
    pub(super) fn fill(&self, socket: &OwnedFd) -> Result<usize, Errno> {
        again(|| splice(socket, None, &self.into, None, self.size, FLAGS))
    }

    /// Moves at most `n` bytes, which are in the pipe, to a socket: EAGAIN means that the socket takes
    /// nothing now. To ask for more than there is would make the kernel wait for the rest (MSG_MORE).
    ///
    /// # Errors
    /// Those of splice(2).
    pub(super) fn empty(&self, socket: &OwnedFd, n: usize) -> Result<usize, Errno> {
        again(|| splice(&self.out, None, socket, None, n, FLAGS))
    }
}

/// The sockets are non-blocking themselves; this is for the pipe.
const FLAGS: SpliceFFlags = SpliceFFlags::SPLICE_F_NONBLOCK;

fn again(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

impl Pipes {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            spare: Vec::new(),
            made: Rc::default(),
            rests_until: 0,
            refused: 0,
        }
    }

    /// An empty pipe, if there is one to be had.
    pub(super) fn take(&mut self, now: Tick) -> Option<Pipe> {
        if let Some(pipe) = self.spare.pop() {
            return Some(pipe);
        }
        if self.made.get() >= MOST || now < self.rests_until {
            self.refused += 1;
            return None;
        }
        let made = Pipe::new(&self.made);
        if made.is_none() {
            self.rests_until = now + REST;
            self.refused += 1;
        }
        made
    }

    /// Takes back a pipe that is empty.
    pub(super) fn give_back(&mut self, pipe: Pipe) {
        self.spare.push(pipe);
    }

    /// How often there was none to be had.
    pub(super) fn refused(&self) -> usize {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_came_back_is_lent_again_and_their_number_is_limited() {
        let mut pipes = Pipes::new();
        let lent: Vec<_> = (0..MOST).filter_map(|_| pipes.take(0)).collect();
        assert_eq!((lent.len(), pipes.take(0).is_some()), (MOST, false));
        assert_eq!(pipes.refused(), 1);
        let mut lent = lent.into_iter();
        pipes.give_back(lent.next().unwrap());
        assert!(pipes.take(0).is_some());
        drop(lent.next());
        assert!(pipes.take(0).is_some(), "a dropped one may be replaced");
    }
}
