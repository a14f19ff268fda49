//! Headers as a sender writes them, for clients, tests and passing a header on.
//!
//! Everything goes into the caller's buffer. Lengths are written from what was built, not from
//! what was meant to be built: a header that miscounts itself spills into the payload. The caller
//! sends the whole header at once, and before any other byte.

mod v1;
mod v2;

use core::fmt;

pub use v1::{v1, v1_unknown};
pub use v2::V2;

/// Why a header was not built. The buffer's contents are then of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error {
    /// The buffer is too small.
    NoRoom,
    /// A length does not fit its 16 bits.
    TooLong,
    /// Client and destination are of different families; no header can say that.
    MixedFamilies,
    /// Padding up to a length that is already passed, or less than 3 bytes away.
    Padding,
    /// A second checksum.
    Crc32cRepeated,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoRoom => "header does not fit the buffer; pass a larger one",
            Self::TooLong => "header or TLV is longer than its 16-bit length can say",
            Self::MixedFamilies => "client and destination are of different address families",
            Self::Padding => "padding needs at least 3 bytes",
            Self::Crc32cRepeated => "header already has a CRC32C",
        })
    }
}

impl core::error::Error for Error {}

/// Writes from the start of a buffer.
struct Cursor<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Cursor<'a> {
    const fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.patch(self.len, bytes)?;
        self.len = self.len.saturating_add(bytes.len());
        Ok(())
    }

    /// Overwrites at `start`.
    fn patch(&mut self, start: usize, bytes: &[u8]) -> Result<(), Error> {
        let room = self
            .buffer
            .get_mut(start..)
            .and_then(|rest| rest.get_mut(..bytes.len()));
        room.ok_or(Error::NoRoom)?.copy_from_slice(bytes);
        Ok(())
    }

    fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Write for Cursor<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes()).map_err(|_| fmt::Error)
    }
}
