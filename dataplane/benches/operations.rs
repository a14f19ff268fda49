//! What one operation costs in instructions, for `e2e/instructions.sh`: runs it so many times, and
//! valgrind counts. Time depends on the machine and on what else it does; this does not.
//!
//!     operations parse-v1 1000

#![allow(clippy::unwrap_used, reason = "a wrong argument ends the count")]

use std::env;
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

use proxyunwrap_dataplane::address::Peer;
use proxyunwrap_dataplane::connection::claim::{Claims, Own};
use proxyunwrap_dataplane::connection::intake::{HeaderPolicy, WithoutClient};
use proxyunwrap_dataplane::connection::ladder::{Apps, MissingFamily};
use proxyunwrap_dataplane::connection::{Command, Connection, Policy, Side, Way};
use proxyunwrap_dataplane::trust::{Rule, Trust};
use proxyunwrap_header::Rules;

const V1: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n";

/// Signature, PROXY over TCP4, 203.0.113.7:51000 for 192.0.2.10:443, and a unique id of 16 bytes.
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x1f\xcb\0\x71\x07\xc0\0\x02\x0a\xc7\x38\x01\xbb\
\x05\0\x100123456789abcdef";

fn main() {
    let mut words = env::args().skip(1).filter(|word| !word.starts_with("--"));
    // `cargo test --benches` runs this without a word.
    let Some(name) = words.next() else { return };
    let count: u32 = words.next().unwrap().parse().unwrap();
    let mut operation = operation(&name).expect("parse-v1, parse-v2, trust, connection or message");
    for _ in 0..count {
        operation();
    }
}

fn operation(name: &str) -> Option<Box<dyn FnMut()>> {
    let rules = Rules::default();
    Some(match name {
        "parse-v1" => Box::new(move || parse(V1, &rules)),
        "parse-v2" => Box::new(move || parse(V2, &rules)),
        "trust" => {
            let trust = a_thousand_pods();
            let peer = "10.1.3.7".parse().unwrap();
            Box::new(move || {
                black_box(trust.rule(black_box(peer))).unwrap();
            })
        }
        "connection" => {
            let (policy, own) = (policy(), Own::default());
            Box::new(move || ended(accepted(&policy, &own), &policy))
        }
        "message" => {
            let (policy, own) = (policy(), Own::default());
            let mut connection = accepted(&policy, &own);
            Box::new(move || {
                message(&mut connection, Way::ToApp, &policy);
                message(&mut connection, Way::ToPeer, &policy);
            })
        }
        _ => return None,
    })
}

fn parse(bytes: &[u8], rules: &Rules) {
    black_box(proxyunwrap_header::parse(black_box(bytes), rules)).unwrap();
}

fn a_thousand_pods() -> Trust {
    let pods = (0..1000_u32).map(|n| format!("10.1.{}.{}/32", n / 256, n % 256));
    Trust::new(pods.map(|pod| (pod.parse().unwrap(), Rule::Require))).unwrap()
}

fn policy() -> Policy {
    Policy {
        header: HeaderPolicy {
            rules: Rules::default(),
            timeout: Duration::from_secs(5),
            without_client: WithoutClient::AsPeer,
            claims: Claims::default(),
        },
        apps: Apps {
            ipv4: Some("127.0.0.1:80".parse().unwrap()),
            ipv6: None,
        },
        missing_family: MissingFamily::Refuse,
        connect_timeout: Duration::from_secs(5),
        idle_timeout: None,
    }
}

/// From accept to a relay with nothing to do.
fn accepted(policy: &Policy, own: &Own) -> Connection {
    let from: SocketAddr = "10.0.0.1:40000".parse().unwrap();
    let mut connection = Connection::new(Peer::new(from), Rule::Require, policy, 0);
    connection.received(black_box(V1), policy, own, 0).unwrap();
    let Command::Dial(attempt) = connection.next() else {
        unreachable!("the header is whole");
    };
    connection.dialed(attempt.source.unwrap(), policy, 0);
    connection.read_blocked(Way::ToApp);
    connection.read_blocked(Way::ToPeer);
    connection
}

/// One message, as an engine carries it.
fn message(connection: &mut Connection, way: Way, policy: &Policy) {
    connection.ready(way.source(), true, false);
    assert_eq!(connection.next(), Command::Read(way));
    connection.read(way, 6, policy, 0);
    connection.read_blocked(way);
    connection.wrote(way, 6, policy, 0);
    assert_eq!(connection.next(), Command::Wait);
}

/// Both sides end.
fn ended(mut connection: Connection, policy: &Policy) {
    connection.ready(Side::Peer, true, false);
    connection.read(Way::ToApp, 0, policy, 0);
    assert_eq!(connection.next(), Command::Shut(Way::ToApp));
    connection.shut(Way::ToApp);
    connection.ready(Side::App, true, false);
    connection.read(Way::ToPeer, 0, policy, 0);
    assert!(matches!(black_box(connection.next()), Command::End(..)));
}
