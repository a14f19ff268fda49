//! The header crate against its specification, against the receiver we promise, and against
//! another parser.
//!
//! Rule ids are ours: G1 to G8, V1-1 to V1-5 and V2-1 to V2-8 number the requirements of
//! `proxy-protocol.txt` section 2 in the order of that text; a test named after one says which
//! half of it. G4, G7 and G8 bind whoever holds the socket and are tested there.
//!
//! Nearly every test reads its bytes through [`read`], which also cuts them at every byte. So
//! each claim is a claim about segmentation too.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod checksum;
mod differential;
mod general;
mod parsers;
mod receiver;
mod round_trip;
mod segmentation;
mod sizes;
mod tlv;
mod v1;
mod v2;

use std::net::SocketAddr;

use proxyunwrap_header::{Endpoints, Header, Invalid, Progress, Rules, TlvRule, Version, parse};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// 203.0.113.7:51000 to 192.0.2.10:443.
const INET: &[u8] = &[203, 0, 113, 7, 192, 0, 2, 10, 0xC7, 0x38, 0x01, 0xBB];

/// [2001:db8::7]:51006 to [2001:db8:1::10]:8443.
const INET6: &[u8] = &[
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, //
    0x20, 0x01, 0x0D, 0xB8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, //
    0xC7, 0x3E, 0x20, 0xFB,
];

const SKIP: Rules = Rules {
    tlvs: TlvRule::Skip,
    ..Rules::DEFAULT
};

/// A v2 header written by hand, with the length its block has.
fn v2_bytes(command: u8, family: u8, block: &[&[u8]]) -> Vec<u8> {
    let block = block.concat();
    let len = u16::try_from(block.len()).expect("test blocks are short");
    [SIGNATURE, &[command, family], &len.to_be_bytes(), &block].concat()
}

fn tlv_bytes(kind: u8, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).expect("test values are short");
    [&[kind], &len.to_be_bytes()[..], value].concat()
}

/// A TCP header of [`INET`] with these extensions.
fn with_tlvs(tlvs: &[u8]) -> Vec<u8> {
    v2_bytes(PROXY, 0x11, &[INET, tlvs])
}

/// CRC32C bit by bit, to check the crate's table against.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 * (crc & 1))
        })
    })
}

/// Writes the right checksum into a header's last TLV, which must be one of zeros.
fn with_crc32c(mut header: Vec<u8>) -> Vec<u8> {
    let sum = crc32c(&header);
    let start = header.len() - 4;
    assert_eq!(header[start - 3..], [3, 0, 4, 0, 0, 0, 0]);
    header[start..].copy_from_slice(&sum.to_be_bytes());
    header
}

/// The parser's answer, after checking that no cut changes it: a part of these bytes is told to
/// wait, never past the header's end, or gets the same answer.
#[track_caller]
fn read<'a>(bytes: &'a [u8], rules: &Rules) -> Result<Progress<'a>, Invalid> {
    let whole = parse(bytes, rules);
    for cut in 0..bytes.len() {
        let part = parse(&bytes[..cut], rules);
        let Ok(Progress::NeedMore(missing)) = part else {
            assert_eq!(
                part,
                whole,
                "after {cut} bytes of {:?}",
                bytes.escape_ascii().to_string()
            );
            continue;
        };
        assert!(missing >= 1, "asks for nothing after {cut} bytes");
        if let Ok(Progress::Complete(header)) = &whole {
            let exact = header.version == Version::V2 && cut >= 16;
            let end = cut + missing;
            assert!(
                end == header.len || (end < header.len && !exact),
                "asks {missing} after {cut}"
            );
        }
    }
    whole
}

#[track_caller]
fn complete<'a>(bytes: &'a [u8], rules: &Rules) -> Header<'a> {
    match read(bytes, rules) {
        Ok(Progress::Complete(header)) => header,
        other => panic!("{other:?} for {:?}", bytes.escape_ascii().to_string()),
    }
}

/// The whole of `bytes` is a header, and says this.
#[track_caller]
fn accepts(bytes: &[u8], endpoints: Endpoints) {
    let header = complete(bytes, &Rules::default());
    assert_eq!((header.endpoints, header.len), (endpoints, bytes.len()));
}

#[track_caller]
fn refuses(bytes: &[u8], invalid: Invalid) {
    assert_eq!(
        read(bytes, &Rules::default()),
        Err(invalid),
        "{:?}",
        bytes.escape_ascii().to_string()
    );
}

#[track_caller]
fn waits(bytes: &[u8]) {
    let answer = read(bytes, &Rules::default());
    assert!(matches!(answer, Ok(Progress::NeedMore(_))), "{answer:?}");
}

#[track_caller]
fn between(client: &str, destination: &str) -> Endpoints {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    Endpoints::Addresses {
        client: address(client),
        destination: address(destination),
    }
}

/// What [`INET`] says.
fn inet() -> Endpoints {
    between("203.0.113.7:51000", "192.0.2.10:443")
}

/// What [`INET6`] says.
fn inet6() -> Endpoints {
    between("[2001:db8::7]:51006", "[2001:db8:1::10]:8443")
}
