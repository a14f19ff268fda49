//! What came from one side of a connection until the logic reads it, and what was asked for.

use nix::errno::Errno;

use crate::sys::ring::{Buffer, Ring};

/// What was received from a side and not yet read, and what was asked for.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) data: Data,
    /// How the stream ended, behind the data.
    pub(super) end: Option<Result<(), Errno>>,
    pub(super) asked: Asked,
    /// That side sends much: it is received from once at a time.
    pub(super) bulky: bool,
    /// That side had nothing more when it was last received from.
    pub(super) empty: bool,
}

/// What came.
#[derive(Default)]
pub(super) enum Data {
    #[default]
    Nothing,
    /// A buffer, of this turn.
    Came(Buffer),
    /// More than could be written at once.
    Kept(Vec<u8>),
}

/// What the kernel was asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Asked {
    #[default]
    Nothing,
    /// To receive once.
    Once,
    /// To receive whatever comes.
    Many,
    /// To stop that; it will say so.
    Stop,
}

impl Inbox {
    /// Takes the data out.
    pub(super) fn take(&mut self) -> Data {
        std::mem::take(&mut self.data)
    }

    /// Puts in what a receive brought.
    pub(super) fn put(&mut self, result: Result<Option<Buffer>, Errno>, more: bool, goes_on: bool) {
        if !goes_on {
            self.asked = Asked::Nothing;
        }
        self.empty = !more;
        match result {
            Ok(Some(buffer)) => self.add(buffer),
            Ok(None) => self.end = Some(Ok(())),
            // No buffer is free: the others will do.
            Err(Errno::ENOBUFS) => self.bulky = !self.bulky,
            // It was taken back, or a signal came: it is asked for again.
            Err(Errno::ECANCELED | Errno::EINTR | Errno::EAGAIN) => {}
            Err(errno) => self.end = Some(Err(errno)),
        }
    }

    fn add(&mut self, buffer: Buffer) {
        self.bulky = match self.asked {
            Asked::Many | Asked::Stop => self.bulky || buffer.len() == Ring::SMALL,
            Asked::Once | Asked::Nothing => buffer.len() >= Ring::SMALL,
        };
        self.data = match self.take() {
            Data::Nothing => Data::Came(buffer),
            Data::Came(first) => Data::Kept([&*first, &*buffer].concat()),
            Data::Kept(mut bytes) => {
                bytes.extend_from_slice(&buffer);
                Data::Kept(bytes)
            }
        };
    }
}
