//! Version 2: structures and extensions that lie.

use proxyunwrap_header::Transport;
use proxyunwrap_header::build::V2;
use proxyunwrap_header::tlv::kind;

use super::bench::{Bench, Case};
use crate::support::wire;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const INET: u8 = 0x11;
const INET6: u8 = 0x21;
const UNIX: u8 = 0x31;
const PROXY: u8 = 0x21;

/// Addresses and ports of a block of the IPv4 family.
const BLOCK: &[u8] = &[203, 0, 113, 7, 192, 0, 2, 1, 0xC7, 0x38, 1, 187];

#[test]
fn a_v2_header_of_wrong_structure_is_closed_and_counted_under_its_fault() {
    let mut cases = vec![
        fixed("version 1", 0x11, INET, "v2_version"),
        fixed("version 3", 0x31, INET, "v2_version"),
        fixed("command 2", 0x22, INET, "v2_command"),
        fixed("command 15", 0x2F, INET, "v2_command"),
        fixed("family 4", PROXY, 0x41, "v2_family"),
        fixed("family 15", PROXY, 0xF1, "v2_family"),
        fixed("transport 3", PROXY, 0x13, "v2_transport"),
        fixed("transport 15", PROXY, 0x1F, "v2_transport"),
        declared("IPv4 without a block", INET, 0, "too_short"),
        declared("IPv4, one byte short", INET, 11, "too_short"),
        declared("IPv6, one byte short", INET6, 35, "too_short"),
        declared("UNIX, one byte short", UNIX, 215, "too_short"),
        declared("one byte over the limit", INET, 4081, "too_long"),
        declared("64 KiB", INET, u16::MAX, "too_long"),
    ];
    cases.extend((0..SIGNATURE.len()).map(almost));
    let bench = Bench::new("v2-faults", "timeout: 60s");
    bench.refuses("header_errors_total", &cases);
}

#[test]
fn extensions_that_lie_are_closed_and_counted_under_their_fault() {
    let nested = [vec![0x20, 0, 10], vec![0; 5], vec![0x21, 0, 3, 1, 2]].concat();
    let cases = [
        tlvs("a value past the end", &[1, 0, 9, 2], "tlv_truncated"),
        tlvs("64 KiB of value", &[1, 255, 255, 2], "tlv_truncated"),
        tlvs(
            "a good one, then one past the end",
            &[4, 0, 1, 0, 1, 0, 1],
            "tlv_truncated",
        ),
        tlvs("one byte behind the addresses", &[0], "tlv_trailing"),
        tlvs("two bytes behind a TLV", &[4, 0, 0, 4, 0], "tlv_trailing"),
        tlvs(
            "SSL without its fields",
            &[0x20, 0, 4, 0, 0, 0, 0],
            "ssl_too_short",
        ),
        tlvs("a part past the end of SSL", &nested, "tlv_truncated"),
        tlvs(
            "a unique id of 129 bytes",
            &[&[5, 0, 129][..], &[7; 129]].concat(),
            "unique_id_too_long",
        ),
        tlvs(
            "a checksum of three bytes",
            &[3, 0, 3, 1, 2, 3],
            "crc32c_length",
        ),
        tlvs("no byte of a checksum", &[3, 0, 0], "crc32c_length"),
        tlvs(
            "a wrong checksum",
            &[3, 0, 4, 1, 2, 3, 4],
            "crc32c_mismatch",
        ),
        changed_behind_the_checksum(),
        second_checksum(),
    ];
    let bench = Bench::new("v2-tlvs", "timeout: 60s");
    bench.refuses("header_errors_total", &cases);
}

#[test]
fn odd_but_legal_extensions_are_taken() {
    let bench = Bench::new("v2-legal", "timeout: 60s");
    let client = wire::client4(0);
    for (name, tlvs) in [
        ("empty values", vec![1, 0, 0, 2, 0, 0, 0x30, 0, 0]),
        ("the same type twice", vec![1, 0, 1, b'a', 1, 0, 1, b'b']),
        ("padding only", [vec![4, 15, 0], vec![0; 3840]].concat()),
        (
            "SSL in SSL is a value",
            vec![0x20, 0, 13, 1, 0, 0, 0, 0, 0x20, 0, 5, 0, 0, 0, 0, 0],
        ),
        ("undefined types", vec![0xD0, 0, 1, 9, 0xFF, 0, 0]),
        ("a vendor's, not UTF-8", vec![0xEA, 0, 2, 0xFF, 0xFE]),
    ] {
        let header = wire::built(|buffer| {
            V2::addresses(
                buffer,
                Transport::Stream,
                client,
                "192.0.2.1:443".parse().expect("one"),
            )?
            .bytes(&tlvs)?
            .finish()
        });
        let (answer, _) = bench.ask(
            crate::support::lab::BALANCER4,
            &[&header[..], b"payload"].concat(),
        );
        let answer = answer.split_once(' ').expect("the app names the client");
        assert_eq!(answer, (client.to_string().as_str(), "payload"), "{name}");
    }
}

/// A header with these two bytes and a good block.
fn fixed(name: &str, command: u8, family: u8, reason: &'static str) -> Case {
    case(name, v2(command, family, 12, BLOCK), reason)
}

/// A header that declares this length, and as many bytes as it says, up to a few KiB.
fn declared(name: &str, family: u8, length: u16, reason: &'static str) -> Case {
    let block = vec![0; usize::from(length).min(300)];
    case(name, v2(PROXY, family, length, &block), reason)
}

/// A good header for IPv4 with these bytes behind its addresses.
fn tlvs(name: &str, bytes: &[u8], reason: &'static str) -> Case {
    let block = [BLOCK, bytes].concat();
    let length = u16::try_from(block.len()).expect("the table is small");
    case(name, v2(PROXY, INET, length, &block), reason)
}

/// A signature with one wrong byte. The first four of it may also begin an empty line or two.
fn almost(at: usize) -> Case {
    let mut bytes = v2(PROXY, INET, 12, BLOCK);
    bytes[at] ^= 0x20;
    case(&format!("signature wrong at {at}"), bytes, "not_a_header")
}

fn changed_behind_the_checksum() -> Case {
    let mut bytes = wire::v2_of(200, wire::client4(0));
    bytes[199] ^= 1;
    case("padding changed", bytes, "crc32c_mismatch")
}

fn second_checksum() -> Case {
    let bytes = wire::built(|buffer| {
        V2::raw(buffer, PROXY, INET, BLOCK)?
            .crc32c()?
            .tlv(kind::CRC32C, &[1, 2, 3, 4])?
            .finish()
    });
    case("a second checksum", bytes, "crc32c_repeated")
}

fn case(name: &str, bytes: Vec<u8>, reason: &'static str) -> Case {
    Case {
        name: name.to_owned(),
        bytes,
        reason,
    }
}

fn v2(command: u8, family: u8, length: u16, block: &[u8]) -> Vec<u8> {
    [SIGNATURE, &[command, family], &length.to_be_bytes(), block].concat()
}
