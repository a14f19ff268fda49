//! The PROXY protocol on the wire: bytes in, meaning out, and back.
//!
//! One call answers one question: what do these first bytes of a connection, or this datagram,
//! say? [`parse`] has three answers. The header is whole, and [`Header::len`] is where the
//! payload starts; more bytes are needed; or no further byte can make a header of these, and
//! [`Invalid`] says why. How the bytes were cut up on their way never changes the answer.
//!
//! ```
//! use proxyunwrap_header::{Endpoints, Progress, Rules, parse};
//!
//! let bytes = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\nGET / HTTP/1.1\r\n";
//! let Ok(Progress::Complete(header)) = parse(bytes, &Rules::default()) else { panic!() };
//! let Endpoints::Addresses { client, .. } = header.endpoints else { panic!() };
//! assert_eq!(client, "203.0.113.7:51000".parse().unwrap());
//! assert_eq!(&bytes[header.len..], b"GET / HTTP/1.1\r\n");
//! ```
//!
//! The rules are those of HAProxy's `doc/proxy-protocol.txt` (text of 2026-04-27), read
//! strictly; where that text leaves a choice, [`Rules`] has a switch or the item's own
//! documentation says what is done.
//!
//! It does no I/O, allocates nothing, never recurses and cannot panic, whatever the bytes. It
//! needs no `std` and no other crate, because it is also linked into a library that is loaded
//! into other people's processes; that is why the few lines of CRC32C are its own. Whether a
//! claimed address is acceptable, and who may claim it, is not decided here.
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "a panic is how a test fails"
    )
)]

#[cfg(test)]
extern crate std;

pub mod build;
mod crc32c;
mod header;
mod invalid;
mod rules;
mod signature;
pub mod tlv;
mod v1;
mod v2;

pub use header::{Endpoints, Header, Progress, UnknownKind, Version};
pub use invalid::Invalid;
pub use rules::{Rules, TlvRule, Transport};
pub use signature::{Resemblance, resembles};
pub use v1::MAX_LEN as V1_MAX_LEN;
pub use v2::MAX_LEN as V2_MAX_LEN;

use signature::Signature;

/// Reads the header at the start of `bytes`: a connection's first bytes, or one datagram.
///
/// Call it again with more bytes, from the same start, after [`Progress::NeedMore`]. An error is
/// final: it is given at the first byte that settles it and stays the same whatever follows.
/// When the version is known, errors are that version's.
///
/// # Errors
///
/// [`Invalid`], for bytes that `rules` refuse.
pub fn parse<'a>(bytes: &'a [u8], rules: &Rules) -> Result<Progress<'a>, Invalid> {
    match signature::find(bytes) {
        Signature::Whole(Version::V1) => v1::parse(bytes, rules),
        Signature::Whole(Version::V2) => v2::parse(bytes, rules),
        Signature::Partial(missing) => Ok(Progress::NeedMore(missing)),
        Signature::Absent => Err(Invalid::NotAHeader),
    }
}
