//! What became of a request.

use io_uring::cqueue;
use nix::errno::Errno;
use nix::poll::PollFlags;

use super::Token;
use super::buffers::{Buffer, Pool};

/// Where the kind of a request stands in its user data; below is the asker's token.
const KIND: u32 = 60;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    ReceiveMany,
    Send,
    Poll,
    /// Nobody wants to know.
    Quiet,
}

/// What became of a request.
#[derive(Debug)]
pub enum Done {
    /// A buffer was received, or None at the end of the stream.
    Received {
        /// What came.
        result: Result<Option<Buffer>, Errno>,
        /// The socket has more.
        more: bool,
        /// The receive goes on.
        goes_on: bool,
    },
    /// So much of this buffer was sent.
    Sent(Result<u32, Errno>, Buffer),
    /// The file is in this condition; and whether the poll goes on.
    Polled(Result<PollFlags, Errno>, bool),
}

/// A completed request.
#[derive(Debug)]
pub struct Completion {
    /// What it was asked with.
    pub token: Token,
    /// What became of it.
    pub done: Done,
}

/// What the kernel says, and the buffer that belongs to it; None if nobody wants to know.
pub(super) fn completion(
    entry: &cqueue::Entry,
    [small, large]: [&Pool; 2],
    sending: &mut [Option<(Token, Buffer)>],
) -> Option<Completion> {
    let result = match entry.result() {
        failed @ ..0 => Err(Errno::from_raw(-failed)),
        result => Ok(result.cast_unsigned()),
    };
    let token = entry.user_data() & ((1 << KIND) - 1);
    let (token, done) = match Kind::from(entry.user_data()) {
        Kind::Quiet => return None,
        Kind::Poll => {
            let more = cqueue::more(entry.flags());
            (token, Done::Polled(result.map(conditions), more))
        }
        Kind::Send => {
            let sent = usize::try_from(token).ok()?;
            let (token, buffer) = sending.get_mut(sent)?.take()?;
            (token, Done::Sent(result, buffer))
        }
        Kind::Receive => (token, received(entry, result, large)),
        Kind::ReceiveMany => (token, received(entry, result, small)),
    };
    Some(Completion { token, done })
}

fn received(entry: &cqueue::Entry, result: Result<u32, Errno>, pool: &Pool) -> Done {
    // SAFETY: the completion names a buffer that the kernel took out of this pool for it, and into
    // which it wrote so many bytes.
    let buffer = cqueue::buffer_select(entry.flags())
        .map(|number| unsafe { pool.taken(number, result.unwrap_or_default()) });
    let buffer = buffer.filter(|buffer| !buffer.is_empty());
    Done::Received {
        result: result.map(|_| buffer),
        more: cqueue::sock_nonempty(entry.flags()),
        goes_on: cqueue::more(entry.flags()),
    }
}

fn conditions(bits: u32) -> PollFlags {
    let bits = i16::try_from(bits & 0x7fff).unwrap_or_default();
    PollFlags::from_bits_truncate(bits)
}

impl Kind {
    /// The user data of a request with this token.
    pub(super) fn of(self, token: Token) -> u64 {
        debug_assert!(token >> KIND == 0, "a token has 60 bits");
        (self as u64) << KIND | token
    }
}

impl From<u64> for Kind {
    fn from(user_data: u64) -> Self {
        match user_data >> KIND {
            0 => Self::Receive,
            1 => Self::ReceiveMany,
            2 => Self::Send,
            3 => Self::Poll,
            _ => Self::Quiet,
        }
    }
}
