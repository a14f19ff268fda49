//! The binary form, section 2.2: 12 bytes of signature, command, family, length, block.

mod addresses;
mod checks;

use crate::signature::V2 as SIGNATURE;
use crate::{Endpoints, Header, Invalid, Progress, Rules, Transport, UnknownKind, Version};
use addresses::Family;

/// Bytes before the block, the length field being the last two of them.
pub(crate) const FIXED_LEN: usize = 16;

/// Bytes of the longest v2 header there can be: a 16-bit length after the first 16 bytes.
pub const MAX_LEN: usize = FIXED_LEN + 0xFFFF;

/// `bytes` begin with the signature.
///
/// Every byte is judged when it is there, in the order of the header, so a header cut anywhere
/// gets the answer of the whole header.
pub(crate) fn parse<'a>(bytes: &'a [u8], rules: &Rules) -> Result<Progress<'a>, Invalid> {
    if !rules.v2 {
        return Err(Invalid::V2Off);
    }
    let fixed = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    let command = fixed.first().map(|byte| Command::read(*byte)).transpose()?;
    let subject = command
        .zip(fixed.get(1))
        .map(|(command, byte)| Subject::read(command, *byte))
        .transpose()?;
    let (Some(subject), Some(&[_, _, high, low])) = (subject, fixed.first_chunk()) else {
        return Ok(Progress::NeedMore(FIXED_LEN.saturating_sub(bytes.len())));
    };
    let declared = usize::from(u16::from_be_bytes([high, low]));
    let len = declared.saturating_add(FIXED_LEN);
    if len > rules.max_len {
        return Err(Invalid::TooLong);
    }
    if declared < subject.least() {
        return Err(Invalid::TooShort);
    }
    match bytes.get(..len) {
        Some(header) => whole(header, subject, rules).map(Progress::Complete),
        None => Ok(Progress::NeedMore(len.saturating_sub(bytes.len()))),
    }
}

#[derive(Clone, Copy)]
enum Command {
    Local,
    Proxy,
}

impl Command {
    fn read(byte: u8) -> Result<Self, Invalid> {
        match (byte >> 4, byte & 0x0F) {
            (2, 0) => Ok(Self::Local),
            (2, 1) => Ok(Self::Proxy),
            (2, _) => Err(Invalid::V2Command),
            _ => Err(Invalid::V2Version),
        }
    }
}

/// Whom the header is about.
#[derive(Clone, Copy)]
enum Subject {
    /// The sender itself. What its family would be, if it were looked at; it may be undefined.
    Sender(Option<Family>),
    Client(Family, Carried),
}

/// The transport nibble.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    Unspec,
    Stream,
    Dgram,
}

impl Subject {
    fn read(command: Command, byte: u8) -> Result<Self, Invalid> {
        let family = Family::read(byte >> 4);
        match command {
            Command::Local => Ok(Self::Sender(family)),
            Command::Proxy => {
                let family = family.ok_or(Invalid::V2Family)?;
                let carried = match byte & 0x0F {
                    0 => Carried::Unspec,
                    1 => Carried::Stream,
                    2 => Carried::Dgram,
                    _ => return Err(Invalid::V2Transport),
                };
                Ok(Self::Client(family, carried))
            }
        }
    }

    /// What the declared length must have room for.
    const fn least(self) -> usize {
        match self {
            Self::Sender(_) => 0,
            Self::Client(family, _) => family.len(),
        }
    }
}

/// Reads a header that is all there: exactly `header`, no byte more.
fn whole<'a>(header: &'a [u8], subject: Subject, rules: &Rules) -> Result<Header<'a>, Invalid> {
    let block = header.get(FIXED_LEN..).unwrap_or_default();
    let (endpoints, tlvs) = match subject {
        Subject::Sender(family) => {
            let tlvs = checks::loose_tlvs(header, block, family.map_or(0, Family::len))?;
            (Endpoints::Local, tlvs)
        }
        Subject::Client(Family::Unspec, _) => {
            let tlvs = checks::loose_tlvs(header, block, 0)?;
            (Endpoints::Unknown(UnknownKind::Unspec), tlvs)
        }
        Subject::Client(family, carried) => {
            let split = block.split_at_checked(family.len());
            let (addresses, rest) = split.ok_or(Invalid::TooShort)?;
            let tlvs = checks::tlvs(header, rest, rules)?;
            (endpoints(family, carried, addresses, rules), tlvs)
        }
    };
    Ok(Header {
        version: Version::V2,
        endpoints,
        len: header.len(),
        tlvs,
    })
}

/// Only addresses of the port's own transport are used.
fn endpoints(family: Family, carried: Carried, block: &[u8], rules: &Rules) -> Endpoints {
    let wanted = match rules.transport {
        Transport::Stream => Carried::Stream,
        Transport::Dgram => Carried::Dgram,
    };
    match family {
        Family::Inet | Family::Inet6 if carried != wanted => {
            Endpoints::Unknown(UnknownKind::OtherTransport)
        }
        _ => family.endpoints(block),
    }
}
