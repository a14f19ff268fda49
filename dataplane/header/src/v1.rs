//! The text form, section 2.1: `PROXY TCP4 203.0.113.7 192.0.2.10 51000 443`, then CRLF.
//!
//! Only the protocol's name is looked at before the line is whole. It decides alone, at its first
//! wrong byte, so a line cut anywhere gets the answer of the whole line.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::{self, FromStr};

use crate::signature::V1 as SIGNATURE;
use crate::tlv::Tlvs;
use crate::{Endpoints, Header, Invalid, Progress, Rules, UnknownKind, Version};

/// A v1 header ends by here or is none: 107 bytes with CRLF, from the specification, section 2.1.
pub const MAX_LEN: usize = 107;

/// `PROXY UNKNOWN` and CRLF.
pub(crate) const MIN_LEN: usize = 15;

/// `bytes` begin with the signature.
pub(crate) fn parse<'a>(bytes: &'a [u8], rules: &Rules) -> Result<Progress<'a>, Invalid> {
    if !rules.accepts_v1() {
        return Err(Invalid::V1Off);
    }
    let rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    let protocol = Protocol::find(rest)?;
    let Some(line) = find_line(bytes)? else {
        return Ok(Progress::NeedMore(missing(bytes, protocol)));
    };
    let fields = |name: &[u8]| line.get(SIGNATURE.len()..)?.get(name.len()..);
    let endpoints = match protocol {
        Some(Protocol::Tcp4) => addresses(fields(TCP4), ipv4)?,
        Some(Protocol::Tcp6) => addresses(fields(TCP6), |field| ipv6(field, rules))?,
        Some(Protocol::Unknown) => Endpoints::Unknown(UnknownKind::V1Unknown),
        // The name is ended by a byte that is in the line or ends it.
        None => return Err(Invalid::V1Protocol),
    };
    Ok(Progress::Complete(Header {
        version: Version::V1,
        endpoints,
        len: line.len().saturating_add(CRLF_LEN),
        tlvs: Tlvs::new(&[]),
    }))
}

const CRLF_LEN: usize = 2;
const TCP4: &[u8] = b"TCP4 ";
const TCP6: &[u8] = b"TCP6 ";
const UNKNOWN: &[u8] = b"UNKNOWN";

#[derive(Clone, Copy)]
enum Protocol {
    Tcp4,
    Tcp6,
    /// Everything up to CRLF is ignored: its SHOULD is to accept, and senders differ in what they
    /// write there.
    Unknown,
}

impl Protocol {
    /// `None` while what follows the signature may still become a name.
    fn find(rest: &[u8]) -> Result<Option<Self>, Invalid> {
        if rest.starts_with(TCP4) {
            return Ok(Some(Self::Tcp4));
        }
        if rest.starts_with(TCP6) {
            return Ok(Some(Self::Tcp6));
        }
        match rest.strip_prefix(UNKNOWN).map(<[u8]>::first) {
            // A lone LF is for the line's own check to name.
            Some(Some(b' ' | b'\r' | b'\n')) => Ok(Some(Self::Unknown)),
            Some(None) => Ok(None),
            Some(Some(_)) => Err(Invalid::V1Protocol),
            None if [TCP4, TCP6, UNKNOWN]
                .iter()
                .any(|name| name.starts_with(rest)) =>
            {
                Ok(None)
            }
            None => Err(Invalid::V1Protocol),
        }
    }

    /// Bytes of the shortest line, CRLF included.
    const fn shortest(self) -> usize {
        match self {
            Self::Tcp4 => b"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n".len(),
            Self::Tcp6 => b"PROXY TCP6 :: :: 0 0\r\n".len(),
            Self::Unknown => MIN_LEN,
        }
    }
}

/// The line without its CRLF, or `None` while it may still end in time.
fn find_line(bytes: &[u8]) -> Result<Option<&[u8]>, Invalid> {
    let within = bytes.get(..MAX_LEN).unwrap_or(bytes);
    let Some(end) = within.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return if within.len() < MAX_LEN {
            Ok(None)
        } else {
            Err(Invalid::V1TooLong)
        };
    };
    match within.split_at_checked(end) {
        Some((line, [b'\r', b'\n', ..])) => Ok(Some(line)),
        Some((_, [b'\r'])) if within.len() < MAX_LEN => Ok(None),
        Some((_, [b'\r'])) => Err(Invalid::V1TooLong),
        _ => Err(Invalid::V1LineEnd),
    }
}

/// No valid line ends sooner, and none is longer than the limit.
fn missing(bytes: &[u8], protocol: Option<Protocol>) -> usize {
    let shortest = protocol.map_or(MIN_LEN, Protocol::shortest);
    let line_end = if bytes.last() == Some(&b'\r') {
        1
    } else {
        CRLF_LEN
    };
    let least = shortest.saturating_sub(bytes.len()).max(line_end);
    least.min(MAX_LEN.saturating_sub(bytes.len()))
}

/// Exactly `client destination client-port destination-port`.
fn addresses(
    fields: Option<&[u8]>,
    address: impl Fn(&[u8]) -> Result<IpAddr, Invalid>,
) -> Result<Endpoints, Invalid> {
    let mut fields = fields.unwrap_or_default().split(|byte| *byte == b' ');
    let mut next = || {
        fields
            .next()
            .filter(|field| !field.is_empty())
            .ok_or(Invalid::V1Fields)
    };
    let (client, destination, client_port, destination_port) = (next()?, next()?, next()?, next()?);
    if fields.next().is_some() {
        return Err(Invalid::V1Fields);
    }
    Ok(Endpoints::Addresses {
        client: SocketAddr::new(address(client)?, port(client_port)?),
        destination: SocketAddr::new(address(destination)?, port(destination_port)?),
    })
}

/// Rust's own reading is the specification's: four numbers up to 255, no leading zero, no sign.
fn ipv4(field: &[u8]) -> Result<IpAddr, Invalid> {
    text::<Ipv4Addr>(field)
        .map(IpAddr::V4)
        .ok_or(Invalid::V1Address)
}

/// Hex groups, or groups that end in a dotted quad, which are IPv6 too: HAProxy writes
/// `::ffff:192.0.2.1` for a v4 client of a dual-stack listener. A bare v4 address is the rules'
/// to decide.
fn ipv6(field: &[u8], rules: &Rules) -> Result<IpAddr, Invalid> {
    match text::<Ipv6Addr>(field) {
        Some(address) => Ok(IpAddr::V6(address)),
        None if rules.tcp6_v4_literal => ipv4(field),
        None => Err(ipv4(field).map_or(Invalid::V1Address, |_| Invalid::V1Tcp6V4Literal)),
    }
}

fn text<T: FromStr>(field: &[u8]) -> Option<T> {
    str::from_utf8(field).ok()?.parse().ok()
}

/// `u16`'s own reading would take `+80` and `080`.
fn port(field: &[u8]) -> Result<u16, Invalid> {
    let plain = match field {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    text(field).filter(|_| plain).ok_or(Invalid::V1Port)
}
