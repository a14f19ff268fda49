//! CRC32C (Castagnoli), as RFC 4960 appendix B defines it and the v2 header carries it.

/// The polynomial 0x1EDC6F41, lowest bit first.
const POLYNOMIAL: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = table();

/// The checksum of these bytes, one piece after the other.
pub(crate) fn of(pieces: &[&[u8]]) -> u32 {
    !pieces.iter().fold(!0, |crc, piece| update(crc, piece))
}

#[expect(
    clippy::indexing_slicing,
    reason = "a byte is always within 256 entries"
)]
fn update(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, byte| {
        let [lowest, ..] = crc.to_le_bytes();
        (crc >> 8) ^ TABLE[usize::from(lowest ^ byte)]
    })
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "runs in the compiler, where a fault is a build error"
)]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < table.len() {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720 appendix B.4 and the check value every catalogue lists.
    #[test]
    fn published_vectors_hold() {
        assert_eq!(of(&[b"123456789"]), 0xE306_9283);
        assert_eq!(of(&[&[0; 32]]), 0x8A91_36AA);
        assert_eq!(of(&[&[0xFF; 32]]), 0x62A8_AB43);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn pieces_count_as_one() {
        assert_eq!(of(&[b"1234", b"", b"56789"]), of(&[b"123456789"]));
    }
}
