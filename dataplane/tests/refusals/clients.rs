//! Clients that no header may name, in every disguise, in both versions.

use std::net::SocketAddr;

use super::bench::{Bench, Case};
use crate::support::lab::BALANCER4;
use crate::support::wire;

const CLAIMS: &[(&str, &str)] = &[
    ("0.0.0.0:51000", "unspecified"),
    ("0.1.2.3:51000", "unspecified"),
    ("[::]:51000", "unspecified"),
    ("[::ffff:0.0.0.0]:51000", "unspecified"),
    ("[2002:0:1::]:51000", "unspecified"),
    ("127.0.0.1:51000", "loopback"),
    ("127.0.0.1:8080", "loopback"),
    ("127.255.255.254:51000", "loopback"),
    ("[::1]:51000", "loopback"),
    ("[::ffff:127.0.0.1]:51000", "loopback"),
    ("[::127.0.0.1]:51000", "loopback"),
    ("[2002:7f00:1::]:51000", "loopback"),
    ("[64:ff9b::127.0.0.1]:51000", "loopback"),
    ("224.0.0.1:51000", "multicast"),
    ("239.255.255.255:51000", "multicast"),
    ("[ff02::1]:51000", "multicast"),
    ("[::ffff:224.0.0.1]:51000", "multicast"),
    ("255.255.255.255:51000", "broadcast"),
    ("[::ffff:255.255.255.255]:51000", "broadcast"),
    ("240.0.0.1:51000", "reserved"),
    ("169.254.169.254:51000", "link_local"),
    ("[fe80::1]:51000", "link_local"),
    ("[::ffff:169.254.0.1]:51000", "link_local"),
    ("10.9.0.2:51000", "own"),
    ("10.9.0.2:8080", "own"),
    ("[fd00:9::2]:51000", "own"),
    ("[::ffff:10.9.0.2]:51000", "own"),
    ("[::10.9.0.2]:51000", "own"),
    ("[2002:a09:2::1]:51000", "own"),
    ("[64:ff9b::10.9.0.2]:51000", "own"),
    ("198.51.100.9:51000", "configured"),
    ("[::ffff:198.51.100.9]:51000", "configured"),
    ("203.0.113.7:0", "port_zero"),
    ("[2001:db8::7]:0", "port_zero"),
];

#[test]
fn a_v1_header_that_names_a_forbidden_client_is_closed_and_counted_under_its_class() {
    let bench = Bench::new("v1-claims", "timeout: 60s");
    bench.refuses("refused_clients_total", &cases(wire::v1));
}

#[test]
fn a_v2_header_that_names_a_forbidden_client_is_closed_and_counted_under_its_class() {
    let bench = Bench::new("v2-claims", "timeout: 60s");
    bench.refuses("refused_clients_total", &cases(wire::v2));
}

#[test]
fn the_broadcast_addresses_of_the_pods_network_are_no_clients() {
    // For such a source the kernel would pick another one: 127.0.0.1 (inet_bind, af_inet.c).
    let bench = Bench::new("broadcast", "timeout: 60s");
    let ends = ["10.9.0.255:51000", "10.9.0.0:51000"].map(|claim| Case {
        name: claim.to_owned(),
        bytes: wire::v1(claim.parse().expect("an address")),
        reason: "broadcast",
    });
    bench.refuses("refused_clients_total", &ends);
}

#[test]
fn a_harmless_client_in_disguise_is_dialled_for_as_itself() {
    let bench = Bench::new("disguised", "timeout: 60s");
    for (claim, seen) in [
        ("[::ffff:203.0.113.7]:51001", "203.0.113.7:51001"),
        ("[::203.0.113.7]:51002", "203.0.113.7:51002"),
        ("[2002:cb00:7107::1]:51003", "[2002:cb00:7107::1]:51003"),
        ("10.9.0.77:51004", "10.9.0.77:51004"),
        ("192.168.1.1:51005", "192.168.1.1:51005"),
        ("[fd00:9::77]:51006", "[fd00:9::77]:51006"),
    ] {
        let header = wire::v2(claim.parse().expect("an address"));
        let (answer, _) = bench.ask(BALANCER4, &[&header[..], b"payload"].concat());
        assert_eq!(answer, format!("{seen} payload"), "{claim}");
    }
}

fn cases(header: impl Fn(SocketAddr) -> Vec<u8>) -> Vec<Case> {
    let case = |(claim, reason): &(&str, &'static str)| Case {
        name: (*claim).to_owned(),
        bytes: header(claim.parse().expect("an address")),
        reason,
    };
    CLAIMS.iter().map(case).collect()
}
