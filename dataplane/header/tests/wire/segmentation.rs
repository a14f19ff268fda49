//! How bytes were cut on their way never changes the answer.

use proptest::prelude::*;
use proxyunwrap_header::{Progress, Rules, TlvRule, Transport, V2_MAX_LEN, parse};

use super::{INET, INET6, LOCAL, PROXY, SIGNATURE, read, tlv_bytes, v2_bytes, with_crc32c};

/// One of each, valid and not, each followed by payload.
fn samples() -> Vec<Vec<u8>> {
    let ssl = tlv_bytes(
        0x20,
        &[&[1, 0, 0, 0, 0][..], &tlv_bytes(0x21, b"TLSv1.3")].concat(),
    );
    let headers = [
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n".to_vec(),
        b"PROXY TCP6 2001:db8::7 2001:db8:1::10 51006 8443\r\n".to_vec(),
        b"PROXY UNKNOWN anything\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\n".to_vec(),
        [b"PROXY TCP4 ", &[b'1'; 120][..]].concat(),
        b"PROXY TCP9 ".to_vec(),
        v2_bytes(PROXY, 0x11, &[INET]),
        v2_bytes(PROXY, 0x21, &[INET6, &ssl]),
        v2_bytes(PROXY, 0x31, &[&[b'/'; 216]]),
        with_crc32c(v2_bytes(LOCAL, 0x11, &[&tlv_bytes(0x03, &[0; 4])])),
        v2_bytes(PROXY, 0x11, &[INET, &tlv_bytes(0x03, &[0; 4])]),
        v2_bytes(PROXY, 0x11, &[INET, &[0x01]]),
        v2_bytes(0x22, 0x11, &[INET]),
        v2_bytes(PROXY, 0x91, &[INET]),
        v2_bytes(PROXY, 0x11, &[b"short"]),
    ];
    headers
        .map(|header| [&header[..], b"payload"].concat())
        .to_vec()
}

#[test]
fn header_split_at_every_byte_reads_the_same() {
    for bytes in samples() {
        let _ = read(&bytes, &Rules::default());
    }
}

/// A reader that takes exactly what is asked for, as `MSG_WAITALL` or `SO_RCVLOWAT` let it.
#[test]
fn a_reader_that_takes_what_is_asked_for_takes_no_payload() {
    for bytes in samples() {
        let mut taken = 0;
        let answer = loop {
            match parse(&bytes[..taken], &Rules::default()) {
                Ok(Progress::NeedMore(missing)) if taken + missing <= bytes.len() => {
                    assert!(missing >= 1, "waits for nothing");
                    taken += missing;
                }
                other => break other,
            }
        };
        if let Ok(Progress::Complete(header)) = answer {
            assert_eq!(taken, header.len);
        }
    }
}

#[test]
fn payload_never_changes_the_answer() {
    for bytes in samples() {
        let Ok(Progress::Complete(header)) = parse(&bytes, &Rules::default()) else {
            continue;
        };
        for payload in [&b""[..], b"\r\n", b"PROXY UNKNOWN\r\n", SIGNATURE] {
            let other = [&bytes[..header.len], payload].concat();
            assert_eq!(
                parse(&other, &Rules::default()),
                Ok(Progress::Complete(header.clone()))
            );
        }
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    let max_len = prop_oneof![Just(4096), Just(V2_MAX_LEN), 0_usize..300];
    (
        any::<bool>(),
        any::<bool>(),
        max_len,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(v1, v2, max_len, dgram, skip, tcp6_v4_literal)| Rules {
            v1,
            v2,
            max_len,
            transport: if dgram {
                Transport::Dgram
            } else {
                Transport::Stream
            },
            tlvs: if skip { TlvRule::Skip } else { TlvRule::Strict },
            tcp6_v4_literal,
        })
}

/// Bytes that get past the first checks more often than random ones do.
fn nearly_header() -> impl Strategy<Value = Vec<u8>> {
    let v1 = "PROXY (TCP4 |TCP6 |UNKNOWN)[0-9a-f:. \r\n]{0,120}".prop_map(String::into_bytes);
    let block = prop::collection::vec(prop_oneof![Just(0_u8), 0_u8..8, any::<u8>()], 0..300);
    let v2 = (0x1F_u8..0x23, 0_u8..0x35, block)
        .prop_map(|(command, family, block)| v2_bytes(command, family, &[&block]));
    prop_oneof![v1, v2, prop::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #[test]
    fn any_bytes_read_the_same_in_any_pieces(bytes in nearly_header(), rules in rules()) {
        let _ = read(&bytes, &rules);
    }

    #[test]
    fn samples_with_one_changed_byte_read_the_same_in_any_pieces(
        sample in prop::sample::select(samples()),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        rules in rules(),
    ) {
        let mut bytes = sample;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(&bytes, &rules);
    }
}
