//! What our receiver promises for each kind of input that reaches it, row by row.
//!
//! Rows about silence, deadlines and closed peers are the socket's holder's to keep: here they
//! are all "more bytes are needed", for which see `general.rs`.

use proxyunwrap_header::{Endpoints, Invalid, Rules, TlvRule, UnknownKind};

use super::{
    INET, INET6, LOCAL, PROXY, accepts, between, complete, inet, read, refuses, tlv_bytes,
    v2_bytes, waits, with_crc32c,
};

#[test]
fn header_in_pieces_is_accepted_and_reads_as_whole() {
    // `read`, behind both, tries every cut.
    accepts(b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n", inet());
    let certificate = tlv_bytes(
        0x20,
        &[&[7, 0, 0, 0, 0][..], &tlv_bytes(0x28, &[0x30; 1500])].concat(),
    );
    accepts(&v2_bytes(PROXY, 0x11, &[INET, &certificate]), inet());
}

#[test]
fn no_byte_at_all_is_no_error() {
    waits(b"");
}

#[test]
fn first_byte_that_rules_both_forms_out_decides() {
    for (bytes, deciding) in [
        (&b"GET / HTTP/1.1\r\n"[..], 1),
        (b"POST / HTTP/1.1\r\n", 2),
        (b"PROPFIND / HTTP/1.1\r\n", 4),
        (b"PROXYING", 6),
        (b"\r\n\r\nGET", 5),
        (b"\r\n\r\n\0\r\nQUIT\r", 12),
    ] {
        waits(&bytes[..deciding - 1]);
        refuses(&bytes[..deciding], Invalid::NotAHeader);
        refuses(bytes, Invalid::NotAHeader);
    }
}

#[test]
fn sloppy_v1_is_refused() {
    for (line, invalid) in [
        (
            &b"PROXY TCP4  203.0.113.7 192.0.2.10 51000 443\r\n"[..],
            Invalid::V1Fields,
        ),
        (
            b"PROXY TCP4 203.0.113.7\t192.0.2.10 51000 443\r\n",
            Invalid::V1Fields,
        ),
        (
            b"PROXY TCP4 203.0.113.7 192.0.2.10 +51000 443\r\n",
            Invalid::V1Port,
        ),
        (
            b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 0443\r\n",
            Invalid::V1Port,
        ),
        (
            b"PROXY tcp4 203.0.113.7 192.0.2.10 51000 443\r\n",
            Invalid::V1Protocol,
        ),
        (
            b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\n",
            Invalid::V1LineEnd,
        ),
        (
            &[b"PROXY TCP4 ", &[b'1'; 97][..]].concat(),
            Invalid::V1TooLong,
        ),
    ] {
        refuses(line, invalid);
    }
}

#[test]
fn v1_unknown_with_anything_before_crlf_has_real_endpoints() {
    accepts(
        b"PROXY UNKNOWN whatever it says\r\n",
        Endpoints::Unknown(UnknownKind::V1Unknown),
    );
}

#[test]
fn v4_literal_under_tcp6_is_a_switch() {
    let line = b"PROXY TCP6 203.0.113.7 192.0.2.10 51000 443\r\n";
    refuses(line, Invalid::V1Tcp6V4Literal);
    let rules = Rules {
        tcp6_v4_literal: true,
        ..Rules::default()
    };
    assert_eq!(complete(line, &rules).endpoints, inet());
}

#[test]
fn local_of_any_family_and_length_has_real_endpoints() {
    for len in [0, 1, 2, 3, 11, 12, 13, 36, 216, 1000] {
        for family in [0x00, 0x11, 0x21, 0x31, 0x44, 0xFF] {
            accepts(
                &v2_bytes(LOCAL, family, &[&vec![0xAA; len]]),
                Endpoints::Local,
            );
        }
    }
}

/// What AWS network load balancers send: the family of TCP over IPv4, no addresses, TLVs at once.
#[test]
fn local_of_a_health_check_without_addresses_is_accepted() {
    let tlvs = [tlv_bytes(0x04, &[0; 9]), tlv_bytes(0x03, &[0; 4])].concat();
    let bytes = with_crc32c(v2_bytes(LOCAL, 0x11, &[&tlvs]));
    accepts(&bytes, Endpoints::Local);
    assert_eq!(complete(&bytes, &Rules::default()).tlvs().count(), 2);
    accepts(&v2_bytes(LOCAL, 0x11, &[]), Endpoints::Local);
}

#[test]
fn proxy_without_usable_addresses_says_why() {
    for (family, block, kind) in [
        (0x00, &[][..], UnknownKind::Unspec),
        (0x31, &[0; 216], UnknownKind::Unix),
        (0x12, INET, UnknownKind::OtherTransport),
    ] {
        accepts(&v2_bytes(PROXY, family, &[block]), Endpoints::Unknown(kind));
    }
}

#[test]
fn undefined_family_or_transport_with_proxy_is_refused() {
    refuses(&v2_bytes(PROXY, 0x41, &[INET6]), Invalid::V2Family);
    refuses(&v2_bytes(PROXY, 0x13, &[INET]), Invalid::V2Transport);
}

#[test]
fn length_shorter_than_the_addresses_is_refused() {
    refuses(&v2_bytes(PROXY, 0x11, &[&INET[..11]]), Invalid::TooShort);
    refuses(&v2_bytes(PROXY, 0x21, &[&INET6[..35]]), Invalid::TooShort);
    refuses(&v2_bytes(PROXY, 0x31, &[&[0; 215]]), Invalid::TooShort);
}

#[test]
fn bytes_behind_the_addresses_that_are_no_tlv_are_refused_by_default() {
    let truncated = v2_bytes(PROXY, 0x11, &[INET, &[0x02, 0xFF, 0xFF, b'a']]);
    refuses(&truncated, Invalid::TlvTruncated);
    let trailing = v2_bytes(PROXY, 0x11, &[INET, &[0]]);
    refuses(&trailing, Invalid::TlvTrailing);
    let rules = Rules {
        tlvs: TlvRule::Skip,
        ..Rules::default()
    };
    for bytes in [truncated, trailing] {
        let answer = complete(&bytes, &rules);
        assert_eq!((answer.endpoints, answer.len), (inet(), bytes.len()));
    }
}

#[test]
fn checksum_is_verified_if_there() {
    let tlvs = [tlv_bytes(0x01, b"h2"), tlv_bytes(0x03, &[0; 4])].concat();
    let wrong = v2_bytes(PROXY, 0x11, &[INET, &tlvs]);
    refuses(&wrong, Invalid::Crc32cMismatch);
    accepts(&with_crc32c(wrong), inet());
    refuses(
        &v2_bytes(PROXY, 0x11, &[INET, &tlv_bytes(0x03, &[0; 5])]),
        Invalid::Crc32cLength,
    );
    accepts(&v2_bytes(PROXY, 0x11, &[INET]), inet());
}

#[test]
fn second_header_is_payload_and_left_alone() {
    let second = v2_bytes(PROXY, 0x11, &[&[127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 2]]);
    let bytes = [&v2_bytes(PROXY, 0x11, &[INET])[..], &second].concat();
    let header = complete(&bytes, &Rules::default());
    assert_eq!(
        (header.endpoints, &bytes[header.len..]),
        (inet(), &second[..])
    );
}

#[test]
fn port_0_and_dubious_addresses_come_through_for_the_caller_to_judge() {
    accepts(
        b"PROXY TCP4 127.0.0.1 0.0.0.0 0 0\r\n",
        between("127.0.0.1:0", "0.0.0.0:0"),
    );
    accepts(
        b"PROXY TCP6 ::ffff:7f00:1 :: 0 0\r\n",
        between("[::ffff:127.0.0.1]:0", "[::]:0"),
    );
    accepts(
        &v2_bytes(PROXY, 0x11, &[&[0; 12]]),
        between("0.0.0.0:0", "0.0.0.0:0"),
    );
}

#[test]
fn a_limit_has_its_own_reason() {
    let rules = Rules {
        max_len: 64,
        ..Rules::default()
    };
    let long = v2_bytes(PROXY, 0x11, &[INET, &tlv_bytes(0x04, &[0; 34])]);
    assert_eq!(read(&long, &rules), Err(Invalid::TooLong));
}
