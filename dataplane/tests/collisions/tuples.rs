//! The same client twice at once, or again before its last connection is forgotten.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};

use super::talk::{SECOND, Talk, stand};
use crate::support::app::{self, App};
use crate::support::stand::{PORT, Stand};
use crate::support::wire;

/// How often a client comes back at once.
const RETURNS: usize = 20;

#[test]
fn a_client_twice_at_once_keeps_its_port_with_an_app_on_the_wildcard_address() {
    let (stand, _app) = serving("twice", "0.0.0.0:8080");
    let client = wire::client4(0);
    both_ports_work(&stand, client, client);
    assert_dials(&stand, [1, 1, 0]);
}

#[test]
fn a_client_twice_at_once_gets_another_port_with_an_app_on_one_loopback_address() {
    let (stand, _app) = serving("bound", "127.0.0.1:8080");
    let client = wire::client4(0);
    let second = both_ports_work(&stand, client, (client.ip(), 0).into());
    assert_ne!(second.port(), client.port());
    assert_dials(&stand, [1, 0, 1]);
}

#[test]
fn an_ipv6_client_twice_at_once_gets_another_port() {
    let (stand, _app) = serving("twice6", "[::]:8080");
    let client = wire::client6(0);
    let second = both_ports_work(&stand, client, (client.ip(), 0).into());
    assert_ne!(second.port(), client.port());
    assert_dials(&stand, [1, 0, 1]);
}

#[test]
fn a_hundred_connections_of_one_tuple_all_work_and_show_the_client() {
    let (stand, app) = serving("hundred", "0.0.0.0:8080");
    let client = wire::client4(0);
    let port = |number| if number % 2 == 0 { PORT } else { SECOND };
    let talks: Vec<_> = (0..100)
        .map(|number| Talk::open(&stand, port(number), client))
        .collect();
    for (number, talk) in talks.iter().enumerate() {
        talk.works(&format!("connection {number}"));
    }
    assert!(app.clients().iter().all(|seen| seen.ip() == client.ip()));
    // 127.0.0.1, then .2 to .4 with the port kept, then the kernel's choice of port.
    assert_dials(&stand, [1, 3, 96]);
}

#[test]
fn a_tuple_that_the_peer_has_just_closed_works_again() {
    for (label, address) in [("again", "0.0.0.0:8080"), ("again-bound", "127.0.0.1:8080")] {
        let (stand, app) = serving(label, address);
        let client = wire::client4(0);
        for number in 0..RETURNS {
            let talk = Talk::open(&stand, PORT, client);
            talk.works(&format!("return {number}"));
            talk.end();
        }
        assert!(app.clients().iter().all(|seen| seen.ip() == client.ip()));
        let metrics = stand.metrics();
        assert_eq!(metrics.sum("dials_total"), RETURNS as u64);
        assert_eq!(metrics.sum("dial_errors_total"), 0);
    }
}

#[test]
fn a_tuple_that_the_app_has_just_closed_is_used_again_as_it_was() {
    let stand = stand("app-closes");
    // The app is the one that remembers the connection, in TIME_WAIT, and takes a new one for it.
    let _app = App::start(
        &stand.lab.pod.namespace,
        "127.0.0.1:8080",
        |mut stream, client| {
            let _ = stream.write_all(client.to_string().as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        },
    );
    let client = wire::client4(0);
    for number in 0..RETURNS {
        let stream = stand.dial();
        wire::send(&stream, &wire::v1(client));
        assert_eq!(wire::answer(&stream), client.to_string());
        wire::end(&stream);
        let so_far = number as u64 + 1;
        stand.metrics_when("it has ended", |metrics| metrics.ended("ok") == so_far);
    }
    assert_dials(&stand, [RETURNS as u64, 0, 0]);
}

/// A connection through each port at once for one client; the second is seen as `second`, whose
/// port 0 stands for any. Returns how it was seen.
#[track_caller]
fn both_ports_work(stand: &Stand, client: SocketAddr, second: SocketAddr) -> SocketAddr {
    let talks = [PORT, SECOND].map(|port| Talk::open(stand, port, client));
    for round in 0..3 {
        talks[0].works(&format!("first {round}"));
        talks[1].works(&format!("second {round}"));
    }
    let seen = talks.map(|talk| talk.seen);
    assert_eq!(seen[0], client);
    assert_eq!(seen[1].ip(), second.ip());
    assert!(second.port() == 0 || seen[1].port() == second.port());
    seen[1]
}

#[track_caller]
fn serving(label: &str, address: &str) -> (Stand, App) {
    let stand = stand(label);
    let app = App::start(&stand.lab.pod.namespace, address, app::echo);
    (stand, app)
}

/// As the client, to another loopback address, from an ephemeral port.
#[track_caller]
fn assert_dials(stand: &Stand, want: [u64; 3]) {
    let metrics = stand.metrics();
    let steps = ["as_client", "other_loopback", "ephemeral_port"];
    assert_eq!(steps.map(|step| metrics.dials(step)), want);
    assert_eq!(metrics.sum("dial_errors_total"), 0);
}
