//! Headers that name nobody: health checks of balancers, mostly. The peer is whom the app sees.

use proxyunwrap_header::Transport;
use proxyunwrap_header::build::V2;
use proxyunwrap_header::tlv::kind;

use super::bench::{Bench, PAYLOAD};
use crate::support::lab::{BALANCER4, BALANCER6};
use crate::support::wire;

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

#[test]
fn a_header_that_names_nobody_is_dialled_for_as_the_peer() {
    let bench = Bench::new("nobody", "timeout: 60s");
    for (name, header) in local().into_iter().chain(unknown()) {
        for peer in [BALANCER4, BALANCER6] {
            let (answer, peer) = bench.ask(peer, &[&header[..], PAYLOAD].concat());
            assert_eq!(
                answer,
                format!("{peer} {}", String::from_utf8_lossy(PAYLOAD)),
                "{name}"
            );
        }
    }
}

#[test]
fn where_a_client_is_asked_for_only_local_may_name_nobody() {
    let bench = Bench::new("asked-for", "withoutClient: refuse");
    for (name, header) in local() {
        let (answer, peer) = bench.ask(BALANCER4, &header);
        assert_eq!(answer, format!("{peer} "), "{name}");
    }
    for (name, header) in unknown() {
        let growth = bench.is_refused(BALANCER4, &[&header[..], PAYLOAD].concat());
        let counted = r#"header_errors_total{reason="without_client"} 1"#;
        assert!(
            growth.iter().any(|line| line == counted),
            "{name}: {growth:?}"
        );
    }
}

/// LOCAL, as balancers write it and as the specification lets them.
fn local() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("LOCAL", raw(LOCAL, 0x00, &[])),
        (
            "LOCAL of AWS: TLVs where the addresses would be",
            raw(LOCAL, 0x11, &[4, 0, 2, 0, 0]),
        ),
        ("LOCAL of an undefined family", raw(LOCAL, 0xFF, &[1, 2, 3])),
        (
            "LOCAL that names loopback",
            raw(LOCAL, 0x11, &[127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 1]),
        ),
        (
            "LOCAL with a checksum",
            wire::built(|buffer| V2::local(buffer)?.crc32c()?.finish()),
        ),
    ]
}

fn unknown() -> Vec<(&'static str, Vec<u8>)> {
    let unix = wire::built(|buffer| {
        V2::unix(buffer, Transport::Stream, &[b'a'; 108], &[b'b'; 108])?.finish()
    });
    let unspec = wire::built(|buffer| V2::unspec(buffer)?.tlv(kind::ALPN, b"h2")?.finish());
    vec![
        ("UNKNOWN", b"PROXY UNKNOWN\r\n".to_vec()),
        (
            "UNKNOWN with addresses",
            b"PROXY UNKNOWN ff::1 127.0.0.1 0 0\r\n".to_vec(),
        ),
        (
            "UNKNOWN with anything",
            b"PROXY UNKNOWN \0\xff  lots of words\r\n".to_vec(),
        ),
        ("UNSPEC", raw(PROXY, 0x00, &[])),
        ("UNSPEC with a TLV", unspec),
        ("UNIX", unix),
        (
            "a datagram's, for IPv4",
            raw(PROXY, 0x12, &[127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 1]),
        ),
    ]
}

fn raw(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    wire::built(|buffer| V2::raw(buffer, command, family, block)?.finish())
}
