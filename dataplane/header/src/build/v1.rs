//! The text form.

use core::fmt::{self, Write};
use core::net::{Ipv6Addr, SocketAddr};

use super::{Cursor, Error};

/// Writes a TCP4 or TCP6 line and returns its length, at most 104 bytes.
///
/// A v4-mapped address is written in hex groups: the dotted form others print is not in the
/// specification's grammar.
///
/// # Errors
///
/// [`Error::MixedFamilies`] and [`Error::NoRoom`].
pub fn v1(buffer: &mut [u8], client: SocketAddr, destination: SocketAddr) -> Result<usize, Error> {
    let mut line = Cursor::new(buffer);
    let (from, to) = (client.port(), destination.port());
    match (client, destination) {
        (SocketAddr::V4(client), SocketAddr::V4(destination)) => {
            write!(
                line,
                "PROXY TCP4 {} {} {from} {to}\r\n",
                client.ip(),
                destination.ip()
            )
        }
        (SocketAddr::V6(client), SocketAddr::V6(destination)) => {
            let (client, destination) = (Groups(*client.ip()), Groups(*destination.ip()));
            write!(line, "PROXY TCP6 {client} {destination} {from} {to}\r\n")
        }
        _ => return Err(Error::MixedFamilies),
    }
    .map_err(|_| Error::NoRoom)?;
    Ok(line.len)
}

/// Writes an UNKNOWN line, 15 bytes, and returns its length.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub fn v1_unknown(buffer: &mut [u8]) -> Result<usize, Error> {
    let mut line = Cursor::new(buffer);
    line.put(b"PROXY UNKNOWN\r\n")?;
    Ok(line.len)
}

/// An address without a dotted quad in it.
struct Groups(Ipv6Addr);

impl fmt::Display for Groups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.segments() {
            [0, 0, 0, 0, 0, 0xFFFF, high, low] => write!(formatter, "::ffff:{high:x}:{low:x}"),
            _ => self.0.fmt(formatter),
        }
    }
}
