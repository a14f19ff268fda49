//! Strings in the code of RFC 7541, appendix B.

use super::tables::BITS;

const LONGEST: usize = 30;

/// The bytes that `text` stands for; None where it is no such code (section 5.2).
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut code, mut bits) = (0_u32, 0);
    for byte in text {
        for shift in (0..8).rev() {
            code = code << 1 | u32::from(byte >> shift & 1);
            bits += 1;
            if let Some(byte) = CODES.byte(code, bits) {
                bytes.push(byte);
                (code, bits) = (0, 0);
            } else if bits == LONGEST {
                return None;
            }
        }
    }
    // The last byte is filled up with ones, the beginning of the code that ends all.
    let filled = bits < 8 && code == (1 << bits) - 1;
    filled.then_some(bytes)
}

/// Codes are numbered by length, then by value: for each length the first code and its place.
struct Codes {
    /// Bytes in the order of their codes.
    bytes: [u8; 256],
    /// For each length: the first code, where it stands in `bytes`, and how many there are.
    lengths: [(u32, usize, u32); LONGEST + 1],
}

static CODES: Codes = Codes::new();

impl Codes {
    const fn new() -> Self {
        let mut codes = Self {
            bytes: [0; 256],
            lengths: [(0, 0, 0); LONGEST + 1],
        };
        let (mut length, mut code, mut place) = (1, 0, 0);
        while length <= LONGEST {
            code <<= 1;
            let first = place;
            let mut byte = 0;
            while byte < 256 {
                if BITS[byte] as usize == length {
                    codes.bytes[place] = byte as u8;
                    place += 1;
                }
                byte += 1;
            }
            let count = (place - first) as u32;
            codes.lengths[length] = (code, first, count);
            code += count;
            length += 1;
        }
        codes
    }

    fn byte(&self, code: u32, bits: usize) -> Option<u8> {
        let (first, place, count) = self.lengths[bits];
        let offset = code.checked_sub(first).filter(|offset| *offset < count)?;
        Some(self.bytes[place + offset as usize])
    }
}
