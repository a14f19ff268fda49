//! The CRC32C extension: verified wherever it can be found, and never required.

use proxyunwrap_header::tlv::kind;
use proxyunwrap_header::{Endpoints, Invalid, Rules};

use super::{
    INET, LOCAL, PROXY, SKIP, accepts, complete, crc32c, inet, read, refuses, tlv_bytes, v2_bytes,
    with_crc32c, with_tlvs,
};

const NO_SUM: &[u8] = &[0x03, 0, 4, 0, 0, 0, 0];

/// Headers of an AWS network load balancer for a `PrivateLink` client, captured and published in
/// AWS's own `elastic-load-balancing-tools` and in `go-proxyproto`'s tests.
#[test]
fn crc32c_of_captured_headers_is_right() {
    for (block, sum, id) in [
        (
            [172, 31, 7, 113, 172, 31, 10, 31, 0xC8, 0xF2, 0, 80],
            [0xE8, 0xD6, 0x89, 0x2D],
            "vpce-08d2bf15fac5001c9",
        ),
        (
            [192, 168, 44, 10, 192, 168, 44, 7, 0xCC, 0x3E, 0x24, 0x1B],
            [0xB9, 0x28, 0x6F, 0xA6],
            "vpce-00eafc458ec97b833",
        ),
    ] {
        let vpce = tlv_bytes(kind::AWS, format!("\x01{id}").as_bytes());
        let bytes = v2_bytes(
            PROXY,
            0x11,
            &[
                &block,
                &tlv_bytes(0x03, &sum),
                &vpce,
                &tlv_bytes(0x04, &[0; 36]),
            ],
        );
        let header = complete(&bytes, &Rules::default());
        let ids: Vec<_> = header
            .tlvs()
            .filter_map(|tlv| tlv.unwrap().aws_vpce_id())
            .collect();
        assert_eq!((header.len, ids), (100, vec![id.as_bytes()]));
    }
}

#[test]
fn crc32c_covers_every_byte_of_the_header() {
    let right = with_crc32c(with_tlvs(&[&tlv_bytes(0x01, b"h2"), NO_SUM].concat()));
    accepts(&right, inet());
    for at in 16..right.len() {
        for rules in [Rules::default(), SKIP] {
            let mut wrong = right.clone();
            wrong[at] ^= 0x01;
            let answer = read(&wrong, &rules);
            // A changed type or length hides the checksum itself, and an absent one is accepted;
            // or the walk no longer ends where the header does.
            let hides = (28..=30).contains(&at) || (33..=35).contains(&at);
            assert!(
                hides || answer == Err(Invalid::Crc32cMismatch),
                "byte {at}: {answer:?}"
            );
        }
    }
}

#[test]
fn crc32c_is_verified_under_both_rules() {
    let mut wrong = with_crc32c(with_tlvs(NO_SUM));
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(
        read(&wrong, &Rules::default()),
        Err(Invalid::Crc32cMismatch)
    );
    assert_eq!(read(&wrong, &SKIP), Err(Invalid::Crc32cMismatch));
}

/// Under the lenient rule bytes that are no TLV to the end are not searched at all.
#[test]
fn crc32c_before_bytes_that_are_no_tlv_is_not_looked_for() {
    let wrong = with_tlvs(&[NO_SUM, &[0xFF]].concat());
    assert_eq!(complete(&wrong, &SKIP).endpoints, inet());
    refuses(&wrong, Invalid::TlvTrailing);
}

#[test]
fn crc32c_in_an_unspec_or_unix_header_is_verified() {
    for (family, block) in [(0x00, &[][..]), (0x31, &[b'/'; 216]), (0x12, INET)] {
        let right = with_crc32c(v2_bytes(PROXY, family, &[block, NO_SUM]));
        assert!(matches!(
            complete(&right, &Rules::default()).endpoints,
            Endpoints::Unknown(_)
        ));
        refuses(
            &v2_bytes(PROXY, family, &[block, NO_SUM]),
            Invalid::Crc32cMismatch,
        );
    }
}

#[test]
fn crc32c_of_another_length_is_refused() {
    for len in [0, 3, 5, 8] {
        refuses(
            &with_tlvs(&tlv_bytes(0x03, &vec![0; len])),
            Invalid::Crc32cLength,
        );
    }
}

#[test]
fn crc32c_twice_is_refused() {
    let mut twice = with_tlvs(&[NO_SUM, NO_SUM].concat());
    // The first is right for the header as it stands.
    let sum = crc32c(&twice);
    twice[31..35].copy_from_slice(&sum.to_be_bytes());
    refuses(&twice, Invalid::Crc32cRepeated);
}

#[test]
fn crc32c_in_local_is_verified_wherever_the_extensions_start() {
    for (family, addresses) in [(0x00, &[][..]), (0x11, &[]), (0x11, INET), (0xFF, &[])] {
        let right = with_crc32c(v2_bytes(LOCAL, family, &[addresses, NO_SUM]));
        accepts(&right, Endpoints::Local);
        let kinds: Vec<_> = complete(&right, &Rules::default())
            .tlvs()
            .map(|tlv| tlv.unwrap().kind)
            .collect();
        assert_eq!(kinds, [kind::CRC32C], "family {family:#04x}");
        refuses(
            &v2_bytes(LOCAL, family, &[addresses, NO_SUM]),
            Invalid::Crc32cMismatch,
        );
    }
}

#[test]
fn local_with_a_block_that_is_no_tlv_is_accepted_without_any() {
    let bytes = v2_bytes(LOCAL, 0x11, &[INET, &[0xFF, 0xFF]]);
    let header = complete(&bytes, &Rules::default());
    assert_eq!(
        (header.endpoints, header.len, header.tlvs().next()),
        (Endpoints::Local, bytes.len(), None)
    );
}

/// Twelve bytes that are a v4 address block, and also two TLVs with a wrong checksum.
#[test]
fn local_with_addresses_that_look_like_a_checksum_is_accepted() {
    let block = [0x03, 0, 4, 9, 192, 0, 2, 0x04, 0, 2, 0x12, 0x34];
    accepts(&v2_bytes(LOCAL, 0x11, &[&block]), Endpoints::Local);
    refuses(&v2_bytes(LOCAL, 0x00, &[&block]), Invalid::Crc32cMismatch);
}
