//! What a connection's socket is polled for.

use nix::poll::PollFlags;

use super::super::event::Source;
use super::super::places::Key;
use crate::connection::Side;
use crate::sys::ring::Token;

/// What a poll is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    /// There is something to read.
    Readable,
    /// There is room to write, or the dial was answered.
    Writable,
    /// The socket has an error. For a side whose stream has ended: no receive will tell.
    Broken,
}

/// Where a token says what a poll is for: above what [`Source`] needs.
const ASPECT: u32 = 58;

impl Aspect {
    pub(super) const ALL: [Self; 3] = [Self::Readable, Self::Writable, Self::Broken];

    /// Its place among what is watched.
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    /// What its completions are told by.
    pub(super) fn token(self, key: Key, side: Side) -> Token {
        (self as Token) << ASPECT | Source::Connection(key, side).token()
    }

    /// The conditions that it asks for.
    pub(super) fn wanted(self) -> PollFlags {
        match self {
            Self::Readable => PollFlags::POLLIN,
            Self::Writable => PollFlags::POLLOUT,
            Self::Broken => PollFlags::empty(),
        }
    }

    /// What this token is for.
    pub(super) fn of(token: Token) -> Option<Self> {
        let aspect = |each: &Self| *each as Token == token >> ASPECT;
        Self::ALL.into_iter().find(aspect)
    }
}
