//! Headers that never end: the deadline closes them, whatever the peer does meanwhile.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::bench::{Bench, PAYLOAD};
use crate::support::lab::BALANCER4;
use crate::support::stand::PATIENCE;
use crate::support::wire;

/// The least that the specification allows.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How far behind its deadline a connection may end on a busy machine.
const LATE: Duration = Duration::from_secs(7);

const PASS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 3, 1));

#[test]
fn silence_and_a_trickle_end_at_the_deadline_under_every_rule_that_looks_for_a_header() {
    let bench = Bench::new("silence", "timeout: 3s");
    let passed = bench.stand.dial_from(PASS);
    let start = Instant::now();
    let mut streams = Vec::new();
    for network in 0..=2 {
        let peer = IpAddr::V4(Ipv4Addr::new(10, 9, network, 1));
        for beginning in [&b""[..], b"P", b"PROXY", b"\r\n\r\n\0\r\nQUIT"] {
            let stream = bench.stand.dial_from(peer);
            wire::send(&stream, beginning);
            streams.push(stream);
        }
    }
    // Forbidden headers are refused by their signature, so these are for the first rule.
    let (v1, v2) = (
        wire::v1(wire::client4(0)),
        wire::v2_of(200, wire::client4(1)),
    );
    for beginning in [&v1[..v1.len() - 1], &v2[..16], &v2[..199]] {
        let stream = bench.stand.dial();
        wire::send(&stream, beginning);
        streams.push(stream);
    }
    let trickle = bench.stand.dial();
    let trickling = thread::spawn(move || is_trickled(&trickle));
    for stream in &streams {
        let ended = wire::ended(stream);
        assert!(ended.is_ok(), "{ended:?}");
        let after = start.elapsed();
        assert!(
            after >= TIMEOUT && after <= TIMEOUT + LATE,
            "closed after {after:?}"
        );
    }
    trickling.join().expect("the trickle is cut");
    let series = r#"header_errors_total{reason="timed_out"}"#;
    assert_eq!(bench.stand.metrics().get(series), streams.len() as u64 + 1);
    assert_eq!(
        wire::exchange(&passed, b"late"),
        format!("{} late", passed.local_addr().expect("open"))
    );
}

#[test]
fn a_peer_that_closes_within_its_header_is_counted_and_one_without_a_byte_is_a_probe() {
    let bench = Bench::new("truncated", "timeout: 60s");
    let v1 = wire::v1(wire::client4(0));
    let v2 = wire::v2_of(200, wire::client4(1));
    for header in [&v1, &v2] {
        for length in [1, 5, 13, header.len() - 1] {
            let growth = bench.is_truncated(BALANCER4, &header[..length]);
            let want = [
                r#"connections_total{version="none",outcome="bad_header"} 1"#,
                r#"header_errors_total{reason="truncated"} 1"#,
            ];
            assert_eq!(growth, want, "{length} bytes");
        }
    }
    let growth = bench.is_truncated(BALANCER4, b"");
    assert_eq!(
        growth,
        [r#"connections_total{version="none",outcome="empty_probe"} 1"#]
    );
}

/// Sends a header so slowly that it is never whole.
fn is_trickled(mut stream: &TcpStream) {
    let header = [&b"PROXY UNKNOWN "[..], &[b'.'; 80], PAYLOAD].concat();
    let end = Instant::now() + PATIENCE;
    for byte in header {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        assert!(
            Instant::now() < end,
            "a trickle keeps a connection for ever"
        );
        thread::park_timeout(Duration::from_millis(100));
    }
    panic!("the whole line was taken");
}
