//! Inputs on which the parsers people use disagree, and the answer we want.
//!
//! Found by running ppp 2.3.0, proxy-header 0.1.3 and proxy-protocol-rs 0.8.0 side by side. For
//! `ppp`, which our other tests lean on, its answer is checked here too: the day one changes,
//! `differential.rs` can lean on it further.

use ppp::PartialResult;
use proxyunwrap_header::{Endpoints, Invalid, Rules, UnknownKind};

use super::{
    INET, LOCAL, PROXY, accepts, complete, inet, refuses, tlv_bytes, v2_bytes, waits, with_crc32c,
};

fn ppp_waits(bytes: &[u8]) -> bool {
    ppp::HeaderResult::parse(bytes).is_incomplete()
}

fn ppp_accepts(bytes: &[u8]) -> bool {
    match ppp::HeaderResult::parse(bytes) {
        ppp::HeaderResult::V1(result) => result.is_ok(),
        ppp::HeaderResult::V2(result) => result.is_ok(),
    }
}

#[test]
fn v1_cut_after_its_last_space_is_incomplete() {
    let cut = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 ";
    waits(cut);
    assert!(!ppp_waits(cut));
}

#[test]
fn v1_port_with_a_plus_is_refused() {
    let line = b"PROXY TCP4 203.0.113.7 192.0.2.10 +123 +123\r\n";
    refuses(line, Invalid::V1Port);
    assert!(ppp_accepts(line));
}

#[test]
fn v1_unknown_with_many_words_is_accepted() {
    let line = b"PROXY UNKNOWN a b c d e f g h\r\n";
    accepts(line, Endpoints::Unknown(UnknownKind::V1Unknown));
    assert!(ppp_waits(line));
}

#[test]
fn another_character_than_a_space_after_proxy_is_refused() {
    refuses(
        b"PROXY_TCP4 203.0.113.7 192.0.2.10 51000 443\r\n",
        Invalid::NotAHeader,
    );
}

#[test]
fn unknown_with_a_suffix_is_refused() {
    refuses(b"PROXY UNKNOWNX\r\n", Invalid::V1Protocol);
    refuses(b"PROXY UNKNOWN\t\r\n", Invalid::V1Protocol);
}

#[test]
fn checksum_in_local_unspec_is_verified() {
    let bytes = v2_bytes(LOCAL, 0x00, &[&tlv_bytes(0x03, &[0; 4])]);
    refuses(&bytes, Invalid::Crc32cMismatch);
    assert!(ppp_accepts(&bytes));
    let right = with_crc32c(bytes);
    accepts(&right, Endpoints::Local);
    assert_eq!(complete(&right, &Rules::default()).tlvs().count(), 1);
}

#[test]
fn wrong_checksum_is_refused() {
    let bytes = v2_bytes(PROXY, 0x11, &[INET, &tlv_bytes(0x03, &[1, 2, 3, 4])]);
    refuses(&bytes, Invalid::Crc32cMismatch);
    assert!(ppp_accepts(&bytes));
}

#[test]
fn local_inet_of_length_0_is_accepted() {
    let bytes = v2_bytes(LOCAL, 0x11, &[]);
    accepts(&bytes, Endpoints::Local);
    assert!(!ppp_accepts(&bytes));
}

#[test]
fn truncated_tlv_is_refused() {
    let bytes = v2_bytes(PROXY, 0x11, &[INET, &[0x01, 0, 9, b'h']]);
    refuses(&bytes, Invalid::TlvTruncated);
    assert!(ppp_accepts(&bytes));
}

#[test]
fn local_of_an_undefined_family_is_accepted() {
    let bytes = v2_bytes(LOCAL, 0x55, &[]);
    accepts(&bytes, Endpoints::Local);
    assert!(!ppp_accepts(&bytes));
}

#[test]
fn proxy_unspec_with_a_tlv_is_accepted_and_keeps_it() {
    let bytes = v2_bytes(PROXY, 0x00, &[&tlv_bytes(0x02, b"app.example")]);
    accepts(&bytes, Endpoints::Unknown(UnknownKind::Unspec));
    let authority = complete(&bytes, &Rules::default())
        .tlvs()
        .find_map(|tlv| tlv.unwrap().authority());
    assert_eq!(authority, Some(&b"app.example"[..]));
}

#[test]
fn ssl_and_vendor_tlvs_are_typed() {
    let ssl = tlv_bytes(
        0x20,
        &[&[1, 0, 0, 0, 1][..], &tlv_bytes(0x26, b"X25519")].concat(),
    );
    let azure = tlv_bytes(0xEE, &[1, 4, 3, 2, 1]);
    let header = v2_bytes(PROXY, 0x11, &[INET, &ssl, &azure]);
    let tlvs: Vec<_> = complete(&header, &Rules::default())
        .tlvs()
        .map(Result::unwrap)
        .collect();
    assert_eq!(tlvs[0].ssl().map(|ssl| ssl.parts().count()), Some(1));
    assert_eq!(tlvs[1].azure_link_id(), Some(0x0102_0304));
}

#[test]
fn garbage_that_starts_like_v1_is_not_waited_for() {
    refuses(b"PROXYGARBAGE", Invalid::NotAHeader);
    refuses(b"PROXY GARBAGE", Invalid::V1Protocol);
}

#[test]
fn a_plain_header_is_read_alike_by_all() {
    let bytes = v2_bytes(PROXY, 0x11, &[INET]);
    accepts(&bytes, inet());
    assert!(ppp_accepts(&bytes));
}
