//! Which version, if any: settled by the first bytes, before anything else is read.

use crate::Version;

/// First bytes of a v1 header: the word and the one space the grammar wants behind it.
pub(crate) const V1: [u8; 6] = *b"PROXY ";

/// First bytes of a v2 header.
pub(crate) const V2: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// What a connection's first bytes look like, for ports where no header is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resemblance {
    /// They begin with this version's signature; whether a valid header follows is not looked at.
    Header(Version),
    /// They are the beginning of a signature and more bytes have to tell. So is no byte at all.
    Perhaps,
    /// No header starts like this.
    No,
}

/// Compares the beginning of `bytes` with both signatures, for ports where a header is optional
/// or forbidden. Where one is required, [`parse`](crate::parse) says the same and more.
#[must_use]
pub fn resembles(bytes: &[u8]) -> Resemblance {
    match find(bytes) {
        Signature::Whole(version) => Resemblance::Header(version),
        Signature::Partial(_) => Resemblance::Perhaps,
        Signature::Absent => Resemblance::No,
    }
}

pub(crate) enum Signature {
    Whole(Version),
    /// At least this many bytes are missing from the shortest header that starts so.
    Partial(usize),
    Absent,
}

pub(crate) fn find(bytes: &[u8]) -> Signature {
    if bytes.starts_with(&V1) {
        Signature::Whole(Version::V1)
    } else if bytes.starts_with(&V2) {
        Signature::Whole(Version::V2)
    } else if V1.starts_with(bytes) {
        Signature::Partial(crate::v1::MIN_LEN.saturating_sub(bytes.len()))
    } else if V2.starts_with(bytes) {
        Signature::Partial(crate::v2::FIXED_LEN.saturating_sub(bytes.len()))
    } else {
        Signature::Absent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_signature_names_its_version() {
        assert_eq!(resembles(b"PROXY "), Resemblance::Header(Version::V1));
        assert_eq!(
            resembles(b"PROXY nonsense"),
            Resemblance::Header(Version::V1)
        );
        assert_eq!(resembles(&V2), Resemblance::Header(Version::V2));
    }

    #[test]
    fn every_proper_prefix_of_a_signature_may_become_one() {
        for len in 0..V1.len() {
            assert_eq!(resembles(&V1[..len]), Resemblance::Perhaps, "{len} bytes");
        }
        for len in 0..V2.len() {
            assert_eq!(resembles(&V2[..len]), Resemblance::Perhaps, "{len} bytes");
        }
    }

    #[test]
    fn one_changed_byte_is_no_signature() {
        for at in 0..V2.len() {
            let mut bytes = V2;
            bytes[at] ^= 1;
            assert_eq!(resembles(&bytes[..=at]), Resemblance::No, "byte {at}");
        }
        for other in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"\x16\x03\x01",
            b"SSH-2.0",
            b"PROXY\t",
            b"proxy ",
        ] {
            assert_eq!(resembles(other), Resemblance::No, "{other:?}");
        }
    }
}
