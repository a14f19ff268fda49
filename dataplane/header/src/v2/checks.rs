//! What has to hold of the bytes behind the addresses.

use crate::crc32c;
use crate::tlv::{Tlv, Tlvs, kind};
use crate::{Invalid, Rules, TlvRule};

/// Unique ids are "up to 128 bytes" (section 2.2.5).
const UNIQUE_ID_MAX: usize = 128;

/// The TLVs of a PROXY header: `rest` is what follows its addresses, to the end of `header`.
pub(super) fn tlvs<'a>(header: &[u8], rest: &'a [u8], rules: &Rules) -> Result<Tlvs<'a>, Invalid> {
    let tlvs = Tlvs::new(rest);
    match rules.tlvs {
        TlvRule::Strict => check_each(tlvs.clone())?,
        TlvRule::Skip if !readable(tlvs.clone()) => return Ok(tlvs),
        TlvRule::Skip => {}
    }
    check_crc32c(header, tlvs.clone())?;
    Ok(tlvs)
}

/// The TLVs of a header whose block may hold anything: of a LOCAL one, whose sender may or may not
/// have written `addresses` bytes before them, or of the unspecified family.
///
/// Two duties meet: the block is to be ignored whatever it holds, and a wrong checksum must not
/// pass. So it is refused only if every way to read TLVs in the block shows a wrong checksum.
pub(super) fn loose_tlvs<'a>(
    header: &[u8],
    block: &'a [u8],
    addresses: usize,
) -> Result<Tlvs<'a>, Invalid> {
    let mut answer = Ok(Tlvs::new(&[]));
    for start in [0, addresses] {
        let Some(tlvs) = block
            .get(start..)
            .map(Tlvs::new)
            .filter(|tlvs| readable(tlvs.clone()))
        else {
            continue;
        };
        match check_crc32c(header, tlvs.clone()) {
            Ok(()) => return Ok(tlvs),
            Err(wrong) => answer = Err(wrong),
        }
    }
    answer
}

fn readable(mut tlvs: Tlvs<'_>) -> bool {
    tlvs.all(|tlv| tlv.is_ok())
}

fn check_each(tlvs: Tlvs<'_>) -> Result<(), Invalid> {
    for tlv in tlvs {
        match tlv? {
            Tlv {
                kind: kind::UNIQUE_ID,
                value,
            } if value.len() > UNIQUE_ID_MAX => {
                return Err(Invalid::UniqueIdTooLong);
            }
            tlv if tlv.kind == kind::SSL => {
                // Its parts are TLVs that hold no further ones: two levels, no recursion.
                let ssl = tlv.ssl().ok_or(Invalid::SslTooShort)?;
                ssl.parts().try_for_each(|part| part.map(drop))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `tlvs` end where `header` ends.
fn check_crc32c(header: &[u8], mut tlvs: Tlvs<'_>) -> Result<(), Invalid> {
    let mut seen = false;
    while let Some(Ok(tlv)) = tlvs.next() {
        if tlv.kind != kind::CRC32C {
            continue;
        }
        let written = tlv.value.try_into().map_err(|_| Invalid::Crc32cLength)?;
        if core::mem::replace(&mut seen, true) {
            return Err(Invalid::Crc32cRepeated);
        }
        let after = tlvs.rest();
        let before = header
            .len()
            .saturating_sub(after.len())
            .saturating_sub(tlv.value.len());
        let before = header.get(..before).unwrap_or_default();
        if crc32c::of(&[before, &[0; 4], after]) != u32::from_be_bytes(written) {
            return Err(Invalid::Crc32cMismatch);
        }
    }
    Ok(())
}
