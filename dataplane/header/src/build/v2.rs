//! The binary form.

use core::net::{IpAddr, SocketAddr};

use super::{Cursor, Error};
use crate::signature::V2 as SIGNATURE;
use crate::tlv::{Tlv, kind};
use crate::v2::FIXED_LEN;
use crate::{Transport, crc32c};

/// A v2 header under construction: how it starts, then its extensions, then [`finish`].
///
/// ```
/// use proxyunwrap_header::{Transport, build::{Error, V2}, tlv::kind};
///
/// # fn main() -> Result<(), Error> {
/// # let (client, destination) = ("203.0.113.7:51000".parse().unwrap(), "192.0.2.10:443".parse().unwrap());
/// let mut buffer = [0; 512];
/// let len = V2::addresses(&mut buffer, Transport::Stream, client, destination)?
///     .tlv(kind::ALPN, b"h2")?
///     .crc32c()?
///     .finish()?;
/// assert_eq!(len, 16 + 12 + 5 + 7);
/// # Ok(())
/// # }
/// ```
///
/// [`finish`]: V2::finish
#[must_use = "the length is written by finish"]
pub struct V2<'a> {
    header: Cursor<'a>,
    /// Where the checksum goes, if it was asked for.
    crc32c: Option<usize>,
}

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

impl<'a> V2<'a> {
    /// A connection from `client` to `destination`.
    ///
    /// # Errors
    ///
    /// [`Error::MixedFamilies`] and [`Error::NoRoom`].
    pub fn addresses(
        buffer: &'a mut [u8],
        transport: Transport,
        client: SocketAddr,
        destination: SocketAddr,
    ) -> Result<Self, Error> {
        let transport = match transport {
            Transport::Stream => 1,
            Transport::Dgram => 2,
        };
        let mut built = match (client.ip(), destination.ip()) {
            (IpAddr::V4(client), IpAddr::V4(destination)) => {
                Self::raw(buffer, PROXY, 0x10 | transport, &client.octets())?
                    .bytes(&destination.octets())?
            }
            (IpAddr::V6(client), IpAddr::V6(destination)) => {
                Self::raw(buffer, PROXY, 0x20 | transport, &client.octets())?
                    .bytes(&destination.octets())?
            }
            _ => return Err(Error::MixedFamilies),
        };
        built = built.bytes(&client.port().to_be_bytes())?;
        built.bytes(&destination.port().to_be_bytes())
    }

    /// The sender's own connection, as in a health check: no family, no addresses.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub fn local(buffer: &'a mut [u8]) -> Result<Self, Error> {
        Self::raw(buffer, LOCAL, 0x00, &[])
    }

    /// Somebody's connection, of whom nothing can be said.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub fn unspec(buffer: &'a mut [u8]) -> Result<Self, Error> {
        Self::raw(buffer, PROXY, 0x00, &[])
    }

    /// A connection between `AF_UNIX` sockets, each named by its `sun_path`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub fn unix(
        buffer: &'a mut [u8],
        transport: Transport,
        client: &[u8; 108],
        destination: &[u8; 108],
    ) -> Result<Self, Error> {
        let family = match transport {
            Transport::Stream => 0x31,
            Transport::Dgram => 0x32,
        };
        Self::raw(buffer, PROXY, family, client)?.bytes(destination)
    }

    /// Whatever is given, right or wrong: bytes 13 and 14 and the start of the block. For headers
    /// that others send and the specification does not foresee, and for tests.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub fn raw(buffer: &'a mut [u8], command: u8, family: u8, block: &[u8]) -> Result<Self, Error> {
        let mut header = Cursor::new(buffer);
        header.put(&SIGNATURE)?;
        header.put(&[command, family, 0, 0])?;
        header.put(block)?;
        Ok(Self {
            header,
            crc32c: None,
        })
    }

    /// Adds an extension.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] and [`Error::NoRoom`].
    pub fn tlv(mut self, kind: u8, value: &[u8]) -> Result<Self, Error> {
        self.tlv_of(kind, &[value])?;
        Ok(self)
    }

    /// Adds an SSL extension with its parts.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] and [`Error::NoRoom`].
    pub fn ssl(mut self, client: u8, verify: u32, parts: &[Tlv<'_>]) -> Result<Self, Error> {
        let start = self.header.len;
        self.tlv_of(kind::SSL, &[&[client], &verify.to_be_bytes()])?;
        for part in parts {
            self.tlv_of(part.kind, &[part.value])?;
        }
        self.patch_len(start.saturating_add(1), TLV_FIXED_LEN.saturating_add(start))?;
        Ok(self)
    }

    /// Adds padding, so that the header so far has `len` bytes: nothing, or 3 bytes and more.
    ///
    /// # Errors
    ///
    /// [`Error::Padding`], [`Error::TooLong`] and [`Error::NoRoom`].
    pub fn pad_to(mut self, len: usize) -> Result<Self, Error> {
        let mut missing = len.checked_sub(self.header.len).ok_or(Error::Padding)?;
        if missing == 0 {
            return Ok(self);
        }
        missing = missing.checked_sub(TLV_FIXED_LEN).ok_or(Error::Padding)?;
        self.header.put(&[kind::NOOP])?;
        self.header.put(&be(missing)?)?;
        for _ in 0..missing {
            self.header.put(&[0])?;
        }
        Ok(self)
    }

    /// Adds a checksum. It stands here and covers the whole header, what is added later too.
    ///
    /// # Errors
    ///
    /// [`Error::Crc32cRepeated`] and [`Error::NoRoom`].
    pub fn crc32c(mut self) -> Result<Self, Error> {
        if self.crc32c.is_some() {
            return Err(Error::Crc32cRepeated);
        }
        self.crc32c = Some(self.header.len.saturating_add(TLV_FIXED_LEN));
        self.tlv_of(kind::CRC32C, &[&[0; 4]])?;
        Ok(self)
    }

    /// Writes the length, then the checksum, and returns how many bytes the header has.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`].
    pub fn finish(mut self) -> Result<usize, Error> {
        self.patch_len(LEN_AT, FIXED_LEN)?;
        if let Some(start) = self.crc32c {
            let sum = crc32c::of(&[self.header.written()]);
            self.header.patch(start, &sum.to_be_bytes())?;
        }
        Ok(self.header.len)
    }

    /// Adds bytes that are no TLV: the rest of an address block, or a deliberate fault.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub fn bytes(mut self, bytes: &[u8]) -> Result<Self, Error> {
        self.header.put(bytes)?;
        Ok(self)
    }

    fn tlv_of(&mut self, kind: u8, pieces: &[&[u8]]) -> Result<(), Error> {
        let len = pieces
            .iter()
            .fold(0_usize, |len, piece| len.saturating_add(piece.len()));
        self.header.put(&[kind])?;
        self.header.put(&be(len)?)?;
        pieces.iter().try_for_each(|piece| self.header.put(piece))
    }

    /// Writes at `at` how many bytes there are from `start` on.
    fn patch_len(&mut self, at: usize, start: usize) -> Result<(), Error> {
        let len = be(self.header.len.saturating_sub(start))?;
        self.header.patch(at, &len)
    }
}

/// Where the header's length field is.
const LEN_AT: usize = 14;

/// Bytes of a TLV before its value.
const TLV_FIXED_LEN: usize = 3;

fn be(len: usize) -> Result<[u8; 2], Error> {
    u16::try_from(len)
        .map(u16::to_be_bytes)
        .map_err(|_| Error::TooLong)
}
