//! The two messages of `grpc.health.v1.Health/Check`, in protobuf's wire format.

use std::fmt;

/// What a HealthCheckResponse says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// 0
    Unknown,
    /// 1
    Serving,
    /// 2
    NotServing,
    /// 3
    ServiceUnknown,
    /// A status that is not defined.
    Other(u64),
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("UNKNOWN"),
            Self::Serving => f.write_str("SERVING"),
            Self::NotServing => f.write_str("NOT_SERVING"),
            Self::ServiceUnknown => f.write_str("SERVICE_UNKNOWN"),
            Self::Other(number) => write!(f, "{number}"),
        }
    }
}

/// A HealthCheckRequest: field 1, the service; an empty one is left out, as protobuf does.
pub(super) fn request(service: &str) -> Vec<u8> {
    if service.is_empty() {
        return Vec::new();
    }
    let mut message = vec![0x0a];
    let mut len = service.len();
    while len >= 0x80 {
        message.push((len & 0x7f) as u8 | 0x80);
        len >>= 7;
    }
    message.push(len as u8);
    message.extend_from_slice(service.as_bytes());
    message
}

/// The status of a HealthCheckResponse: field 1, a number; the last one counts, and none is 0. Other
/// fields are passed over. None when it is no message at all.
pub(super) fn status(mut message: &[u8]) -> Option<Health> {
    let mut status = 0;
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match (tag >> 3, tag & 7) {
            (0, _) => return None,
            (1, 0) => status = varint(&mut message)?,
            (1, _) => return None,
            (_, 0) => drop(varint(&mut message)?),
            (_, 1) => skip(&mut message, 8)?,
            (_, 2) => {
                let len = varint(&mut message)?;
                skip(&mut message, len)?;
            }
            (_, 5) => skip(&mut message, 4)?,
            _ => return None,
        }
    }
    Some(match status {
        0 => Health::Unknown,
        1 => Health::Serving,
        2 => Health::NotServing,
        3 => Health::ServiceUnknown,
        other => Health::Other(other),
    })
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn skip(message: &mut &[u8], len: u64) -> Option<()> {
    *message = message.get(usize::try_from(len).ok()?..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_request_names_the_service() {
        assert_eq!(request(""), b"");
        assert_eq!(request("web"), b"\x0a\x03web");
        let long = request(&"x".repeat(300));
        assert_eq!((&long[..3], long.len()), (&b"\x0a\xac\x02"[..], 303));
    }

    #[test]
    fn the_status_is_the_last_field_1() {
        for (message, want) in [
            (&b""[..], Some(Health::Unknown)),
            (b"\x08\x01", Some(Health::Serving)),
            (b"\x08\x01\x08\x02", Some(Health::NotServing)),
            (b"\x12\x02hi\x08\x03\x18\x09", Some(Health::ServiceUnknown)),
            (
                b"\x09\0\0\0\0\0\0\0\0",
                None, // field 1 of another kind
            ),
            (
                b"\x11\0\0\0\0\0\0\0\0\x1d\0\0\0\0\x08\x07",
                Some(Health::Other(7)),
            ),
            (b"\x08", None),
            (b"\x12\x05hi", None),
            (b"\x0b", None),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", None),
        ] {
            assert_eq!(status(message), want, "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_status_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = status(&bytes);
        }
    }
}
