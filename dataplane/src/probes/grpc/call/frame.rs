//! Frames of HTTP/2 (RFC 9113, section 4), one at a time.

use super::error::Error;

/// SETTINGS_MAX_FRAME_SIZE, which we leave as it is.
const MAX: usize = 16_384;

/// Length, kind, flags, stream.
pub(super) const HEAD: usize = 9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;

pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Takes a whole frame off the front of `input`; None when more bytes are needed. The `first` one
    /// tells who speaks HTTP/2: everything else reads as a strange one.
    pub(super) fn cut(input: &mut Vec<u8>, first: bool) -> Result<Option<Self>, Error> {
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [l1, l2, l3, kind, flags, s1, s2, s3, s4] = *head;
        if first && (kind, flags & ACK) != (SETTINGS, 0) {
            return Err(Error::NotHttp2);
        }
        let len = u32::from_be_bytes([0, l1, l2, l3]) as usize;
        if len > MAX {
            return Err(Error::TooLong("a frame"));
        }
        let Some(payload) = rest.get(..len) else {
            return Ok(None);
        };
        let frame = Self {
            kind,
            flags,
            // The highest bit is reserved.
            stream: u32::from_be_bytes([s1, s2, s3, s4]) & 0x7fff_ffff,
            payload: payload.to_vec(),
        };
        input.drain(..HEAD + len);
        Ok(Some(frame))
    }

    /// The payload of DATA or HEADERS without its padding.
    pub(super) fn unpadded(&self) -> Result<&[u8], Error> {
        if self.flags & PADDED == 0 {
            return Ok(&self.payload);
        }
        let wrong = Error::Protocol("more padding than frame");
        let Some((padding, rest)) = self.payload.split_first() else {
            return Err(wrong);
        };
        let end = rest.len().checked_sub(usize::from(*padding));
        end.map(|end| &rest[..end]).ok_or(wrong)
    }

    /// Four bytes of the payload.
    pub(super) fn number(&self, at: usize) -> Option<u32> {
        let bytes = self.payload.get(at..at + 4)?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    }
}

/// Writes a frame; ours are all short.
pub(super) fn put(bytes: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&len.to_be_bytes()[1..]);
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
}
