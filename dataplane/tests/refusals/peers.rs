//! Whom to believe: the peer's address decides before a byte is read.

use std::net::{IpAddr, Ipv4Addr};

use super::bench::{Bench, PAYLOAD};
use crate::support::lab::{BALANCER4, BALANCER6};
use crate::support::wire;

const OPTIONAL: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 1, 1));
const FORBID: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 2, 1));
const PASS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 3, 1));
const UNTRUSTED: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 4, 1));

const PLAIN: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

#[test]
fn an_untrusted_peer_is_closed_unread() {
    let bench = bench("untrusted");
    let ended = [r#"connections_total{version="none",outcome="untrusted"} 1"#];
    // Good, bad, and no header at all: all the same, for nobody looks.
    for bytes in [&header(0)[..], b"GET / HTTP/1.1\r\n", b""] {
        assert_eq!(bench.is_refused(UNTRUSTED, bytes), ended);
    }
}

#[test]
fn a_required_header_is_taken_from_trusted_peers_of_both_families() {
    let bench = bench("require");
    for (number, peer) in [BALANCER4, BALANCER6].into_iter().enumerate() {
        let (answer, _) = bench.ask(peer, &header(number));
        assert_eq!(answer, seen(number));
    }
    let growth = bench.is_refused(BALANCER4, PLAIN);
    assert!(growth.contains(&error("not_a_header")), "{growth:?}");
}

#[test]
fn an_optional_header_is_believed_when_it_is_there() {
    let bench = bench("optional");
    assert_eq!(bench.ask(OPTIONAL, &header(0)).0, seen(0));
    let (answer, peer) = bench.ask(OPTIONAL, PLAIN);
    assert_eq!(answer, text(&peer, PLAIN));
    // Half of a signature is a header that is not there yet; the end of the stream ends the wait.
    let growth = bench.is_truncated(OPTIONAL, b"PROX");
    assert!(growth.contains(&error("truncated")), "{growth:?}");
    // What begins like a header is held to its grammar.
    let growth = bench.is_refused(OPTIONAL, b"PROXY TCP4 203.0.113.7\r\n");
    assert!(growth.contains(&error("v1_fields")), "{growth:?}");
}

#[test]
fn a_forbidden_header_is_refused_and_everything_else_is_the_peers() {
    let bench = bench("forbid");
    for header in [header(0), wire::v2(wire::client4(1))] {
        let growth = bench.is_refused(FORBID, &header);
        assert!(growth.contains(&error("forbidden")), "{growth:?}");
    }
    for bytes in [PLAIN, b"PROXIMITY", b"\r\n\r\n\0\r\nQUIET"] {
        let (answer, peer) = bench.ask(FORBID, bytes);
        assert_eq!(answer, text(&peer, bytes));
    }
}

#[test]
fn bytes_of_a_passed_peer_are_not_looked_at() {
    let bench = bench("pass");
    for bytes in [PLAIN, &header(0), b"PROX", b""] {
        let (answer, peer) = bench.ask(PASS, bytes);
        assert_eq!(answer, text(&peer, bytes));
    }
}

#[test]
fn a_second_header_is_payload() {
    let bench = bench("second");
    for inner in [wire::v1(wire::client4(9)), b"PROXY UNKNOWN\r\n".to_vec()] {
        let bytes = [wire::v2(wire::client4(1)), inner.clone(), PAYLOAD.to_vec()].concat();
        let payload = [&inner[..], PAYLOAD].concat();
        let (answer, _) = bench.ask(BALANCER4, &bytes);
        assert_eq!(answer, text(&wire::client4(1).to_string(), &payload));
    }
}

#[track_caller]
fn bench(label: &str) -> Bench {
    Bench::new(label, "versions: [v1, v2], timeout: 60s")
}

/// A header and the payload behind it, for a client of its own.
fn header(number: usize) -> Vec<u8> {
    [&wire::v1(wire::client4(number))[..], PAYLOAD].concat()
}

/// What the app answers to that.
fn seen(number: usize) -> String {
    text(&wire::client4(number).to_string(), PAYLOAD)
}

fn text(client: &str, payload: &[u8]) -> String {
    format!("{client} {}", String::from_utf8_lossy(payload))
}

fn error(reason: &str) -> String {
    format!("header_errors_total{{reason=\"{reason}\"}} 1")
}
