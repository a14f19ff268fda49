//! An io_uring that safe code can use.
//!
//! One thread owns a ring: it asks, waits, and takes what was completed. Memory that the kernel
//! writes to or reads from is this module's alone: what is received comes in a [`Buffer`] of the
//! ring's [`Pool`], and what is sent is such a buffer, which comes back with the completion. So
//! whoever asked may go away at any time. Requests on a socket run in the order they were asked
//! for, [`Ring::close`] among them: a request never meets another socket under its number.

mod buffers;
mod completion;
mod probe;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use nix::errno::Errno;
use nix::poll::PollFlags;

pub use buffers::Buffer;
use buffers::{LARGE, Pool, SMALL, Shape};
pub use completion::{Completion, Done};
use completion::{Kind, completion};
pub use probe::{Unavailable, probe};

/// Requests that are handed over at once; when there are more they go in several calls.
const REQUESTS: u32 = 1024;

/// Completions that have a place. What is beyond that waits in the kernel (IORING_FEAT_NODROP), so
/// this is for speed alone.
const COMPLETIONS: u32 = 8192;

/// What a completion is told by: whatever the asker likes, below 2^60.
pub type Token = u64;

/// The ring of one thread.
pub struct Ring {
    ring: IoUring,
    small: Pool,
    large: Pool,
    /// Buffers that the kernel reads from, with their askers' tokens, by number.
    sending: Vec<Option<(Token, Buffer)>>,
    completed: VecDeque<Completion>,
}

impl Ring {
    /// A ring of this thread: no other may use it (IORING_SETUP_SINGLE_ISSUER).
    ///
    /// # Errors
    /// Those of io_uring_setup(2), io_uring_register(2) and mmap(2).
    pub fn new() -> io::Result<Self> {
        // The kernel completes requests when we wait, and not when it likes to interrupt us.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(REQUESTS)?;
        let (small, large) = (Pool::new(SMALL)?, Pool::new(LARGE)?);
        register(&ring, &small, SMALL)?;
        register(&ring, &large, LARGE)?;
        Ok(Self {
            ring,
            sending: (0..SMALL.count + LARGE.count).map(|_| None).collect(),
            small,
            large,
            completed: VecDeque::new(),
        })
    }

    /// Asks for at most `most` bytes of a socket. `waits` says that there is nothing yet, as far as
    /// is known: then the kernel does not try at once.
    pub fn receive(&mut self, socket: &impl AsFd, most: usize, waits: bool, token: Token) {
        let most = u32::try_from(most).map_or(LARGE.size, |most| most.min(LARGE.size));
        let first = if waits { RECVSEND_POLL_FIRST } else { 0 };
        let entry = opcode::Recv::new(raw(socket), std::ptr::null_mut(), most)
            .buf_group(LARGE.group)
            .ioprio(first)
            .build()
            .flags(Flags::BUFFER_SELECT);
        // SAFETY: the kernel takes a buffer of the pool, which outlives the ring.
        unsafe { self.push(Kind::Receive, token, entry) };
    }

    /// Asks for whatever comes, again and again, at most [`Ring::SMALL`] bytes each time. It ends by
    /// itself with the stream, with an error, or when no buffer is free.
    pub fn receive_many(&mut self, socket: &impl AsFd, token: Token) {
        let entry = opcode::RecvMulti::new(raw(socket), SMALL.group).build();
        // SAFETY: the kernel takes buffers of the pool, which outlives the ring.
        unsafe { self.push(Kind::ReceiveMany, token, entry) };
    }

    /// Bytes that fill a buffer of `receive_many`.
    pub const SMALL: usize = SMALL.size as usize;

    /// Sends a buffer to a socket: what it takes now, and no more.
    pub fn send(&mut self, socket: &impl AsFd, buffer: Buffer, token: Token) {
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(raw(socket), buffer.as_ptr(), length)
            .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
            .build();
        let place = buffer.place();
        self.sending[usize::from(place)] = Some((token, buffer));
        // SAFETY: the buffer stays in `sending`, and so out of the pool, until its completion.
        unsafe { self.push(Kind::Send, Token::from(place), entry) };
    }

    /// Asks once when a file is in one of these conditions, or has an error. A socket whose stream
    /// has ended is told of at once, whatever is wanted (IO_POLL_UNMASK, io_uring/poll.c).
    pub fn poll(&mut self, file: &impl AsFd, wanted: PollFlags, token: Token) {
        self.push_poll(file, wanted, false, token);
    }

    /// The same again and again: at once, and then with every change.
    pub fn watch(&mut self, file: &impl AsFd, wanted: PollFlags, token: Token) {
        self.push_poll(file, wanted, true, token);
    }

    fn push_poll(&mut self, file: &impl AsFd, wanted: PollFlags, multi: bool, token: Token) {
        let wanted = u32::from(wanted.bits().cast_unsigned());
        let entry = opcode::PollAdd::new(raw(file), wanted).multi(multi).build();
        // SAFETY: the request names no memory.
        unsafe { self.push(Kind::Poll, token, entry) };
    }

    /// Takes back a `receive` with this token; it may still complete.
    pub fn cancel_receive(&mut self, token: Token) {
        self.cancel(Kind::Receive, token);
    }

    /// Takes back a `receive_many` with this token; it may still complete, and does so once more.
    pub fn cancel_receive_many(&mut self, token: Token) {
        self.cancel(Kind::ReceiveMany, token);
    }

    /// Takes back a `poll` or `watch` with this token; it may still complete.
    pub fn cancel_poll(&mut self, token: Token) {
        self.cancel(Kind::Poll, token);
    }

    /// Closes a file after everything that was asked of it before.
    pub fn close(&mut self, file: OwnedFd) {
        let entry = opcode::Close::new(Fd(file.into_raw_fd()))
            .build()
            .flags(Flags::SKIP_SUCCESS);
        // SAFETY: the request names no memory, and the descriptor was given to us.
        unsafe { self.push(Kind::Quiet, 0, entry) };
    }

    /// Hands over what was asked for, and waits until something has completed, for at most this long.
    ///
    /// # Errors
    /// Those of io_uring_enter(2) that only a bug can bring.
    pub fn wait(&mut self, limit: Option<Duration>) -> Result<(), Errno> {
        let limit = match self.completed.is_empty() {
            true => limit.map(Timespec::from),
            false => Some(Timespec::new()),
        };
        let arguments = match &limit {
            Some(limit) => SubmitArgs::new().timespec(limit),
            None => SubmitArgs::new(),
        };
        let entered = self.ring.submitter().submit_with_args(1, &arguments);
        self.collect();
        match entered {
            Ok(_) => Ok(()),
            Err(error) => harmless(&error),
        }
    }

    /// Whether something was completed that nobody has taken yet.
    pub fn has_completed(&self) -> bool {
        !self.completed.is_empty()
    }

    /// Something that was completed by the last wait.
    pub fn completed(&mut self) -> Option<Completion> {
        self.completed.pop_front()
    }

    fn cancel(&mut self, kind: Kind, token: Token) {
        let entry = opcode::AsyncCancel2::new(CancelBuilder::user_data(kind.of(token)))
            .build()
            .flags(Flags::SKIP_SUCCESS);
        // SAFETY: the request names no memory.
        unsafe { self.push(Kind::Quiet, 0, entry) };
    }

    /// # Safety
    /// What the request names must be valid until it has completed.
    unsafe fn push(&mut self, kind: Kind, token: Token, entry: Entry) {
        let entry = entry.user_data(kind.of(token));
        // SAFETY: as the caller promises.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // It fails while completions are in the way; they are taken, and it is tried again.
            let _ = self.ring.submit();
            self.collect();
        }
    }

    /// Takes completions over from the kernel.
    fn collect(&mut self) {
        let Self {
            ring,
            small,
            large,
            sending,
            completed,
        } = self;
        for entry in ring.completion() {
            completed.extend(completion(&entry, [small, large], sending));
        }
    }
}

impl Drop for Ring {
    /// What waits for a socket does not outlive us. Sends wait for nothing, see `send`.
    fn drop(&mut self) {
        let _ = self.ring.submit();
        let submitter = self.ring.submitter();
        // There may be nothing to cancel, or no buffers registered.
        let _ = submitter.register_sync_cancel(None, CancelBuilder::any());
        let _ = submitter.unregister_buf_ring(SMALL.group);
        let _ = submitter.unregister_buf_ring(LARGE.group);
    }
}

/// IORING_RECVSEND_POLL_FIRST of linux/io_uring.h, which the crate does not export.
const RECVSEND_POLL_FIRST: u16 = 1;

fn register(ring: &IoUring, pool: &Pool, shape: Shape) -> io::Result<()> {
    let submitter = ring.submitter();
    // SAFETY: the pool's entries are page-aligned and as many as its shape says; they are unmapped
    // only after the last buffer and the ring, which is unregistered from them first.
    unsafe { submitter.register_buf_ring_with_flags(pool.entries(), shape.count, shape.group, 0) }
}

fn harmless(error: &io::Error) -> Result<(), Errno> {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ETIME | Errno::EINTR | Errno::EBUSY | Errno::EAGAIN) | None => Ok(()),
        Some(errno) => Err(errno),
    }
}

fn raw(file: &impl AsFd) -> Fd {
    let number: RawFd = file.as_fd().as_raw_fd();
    Fd(number)
}
