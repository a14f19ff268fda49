//! G1 to G6: what holds for both forms.

use proxyunwrap_header::{
    Invalid, Progress, Resemblance, Rules, Transport, UnknownKind, Version, parse, resembles,
};

use super::{INET, PROXY, accepts, between, complete, inet, read, refuses, v2_bytes, waits};

const LINE: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n";

#[test]
fn g1_both_forms_say_the_same() {
    accepts(LINE, inet());
    accepts(&v2_bytes(PROXY, 0x11, &[INET]), inet());
}

#[test]
fn g2_a_partial_header_is_waited_for() {
    waits(b"");
    waits(&LINE[..LINE.len() - 1]);
    waits(&v2_bytes(PROXY, 0x11, &[INET])[..27]);
}

#[test]
fn g3_nothing_is_said_before_the_header_is_whole() {
    for header in [LINE, &v2_bytes(PROXY, 0x11, &[INET])] {
        for cut in 0..header.len() {
            let answer = parse(&header[..cut], &Rules::default());
            assert!(
                matches!(answer, Ok(Progress::NeedMore(_))),
                "{answer:?} after {cut} bytes"
            );
        }
    }
}

#[test]
fn g5_a_datagram_is_read_by_itself_and_keeps_its_payload() {
    let rules = Rules {
        transport: Transport::Dgram,
        ..Rules::default()
    };
    let datagram = v2_bytes(PROXY, 0x12, &[INET]);
    let other = [
        &v2_bytes(PROXY, 0x12, &[&[203, 0, 113, 8], &INET[4..]])[..],
        b"payload",
    ]
    .concat();
    assert_eq!(complete(&datagram, &rules).endpoints, inet());
    assert_eq!(complete(&datagram, &rules).len, datagram.len());
    let header = complete(&other, &rules);
    assert_eq!(
        header.endpoints,
        between("203.0.113.8:51000", "192.0.2.10:443")
    );
    assert_eq!(&other[header.len..], b"payload");
}

#[test]
fn g5_v1_does_not_exist_in_datagrams() {
    let rules = Rules {
        transport: Transport::Dgram,
        ..Rules::default()
    };
    assert_eq!(read(LINE, &rules), Err(Invalid::V1Off));
}

#[test]
fn g6_bytes_without_a_header_are_never_taken_for_a_connection_without_one() {
    refuses(b"GET / HTTP/1.1\r\nHost: app\r\n\r\n", Invalid::NotAHeader);
    refuses(
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
        Invalid::NotAHeader,
    );
    refuses(b"SSH-2.0-OpenSSH_9.6\r\n", Invalid::NotAHeader);
    refuses(b"\0", Invalid::NotAHeader);
}

#[test]
fn a_version_switched_off_has_its_own_reason() {
    let v2 = v2_bytes(PROXY, 0x11, &[INET]);
    let only_v1 = Rules {
        v2: false,
        ..Rules::default()
    };
    let only_v2 = Rules {
        v1: false,
        ..Rules::default()
    };
    assert_eq!(read(LINE, &only_v2), Err(Invalid::V1Off));
    assert_eq!(read(&v2, &only_v1), Err(Invalid::V2Off));
    assert_eq!(complete(LINE, &only_v1).version, Version::V1);
    assert_eq!(complete(&v2, &only_v2).version, Version::V2);
}

#[test]
fn errors_are_those_of_the_version_the_signature_fixed() {
    refuses(b"PROXY nonsense\r\n", Invalid::V1Protocol);
    refuses(&v2_bytes(0x31, 0x11, &[INET]), Invalid::V2Version);
    let almost = [&b"\r\n\r\n\0\r\nQUIT\r"[..], &[PROXY, 0x11, 0, 12], INET].concat();
    refuses(&almost, Invalid::NotAHeader);
}

#[test]
fn whatever_parses_resembles_a_header() {
    let v2 = v2_bytes(PROXY, 0x11, &[INET]);
    for (header, version) in [(LINE, Version::V1), (&v2, Version::V2)] {
        assert_eq!(resembles(header), Resemblance::Header(version));
        assert_eq!(complete(header, &Rules::default()).version, version);
    }
}

#[test]
fn labels_are_the_ones_dashboards_name() {
    assert_eq!([Version::V1, Version::V2].map(Version::label), ["v1", "v2"]);
    let kinds = [
        UnknownKind::V1Unknown,
        UnknownKind::Unspec,
        UnknownKind::Unix,
        UnknownKind::OtherTransport,
    ];
    let labels = kinds.map(UnknownKind::label);
    assert_eq!(labels, ["v1_unknown", "unspec", "unix", "other_transport"]);
}

#[test]
fn the_longest_header_accepted_fits_the_size_the_rules_name() {
    assert_eq!(Rules::default().longest(), 4096);
    assert_eq!(
        Rules {
            max_len: 40,
            ..Rules::default()
        }
        .longest(),
        107
    );
    assert_eq!(
        Rules {
            max_len: 40,
            v1: false,
            ..Rules::default()
        }
        .longest(),
        40
    );
    assert_eq!(
        Rules {
            v2: false,
            ..Rules::default()
        }
        .longest(),
        107
    );
}
