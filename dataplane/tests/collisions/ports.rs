//! Ports that somebody in the pod listens on, as clients' ports.

use std::net::SocketAddr;

use super::talk::{Talk, stand};
use crate::support::app::{self, App};
use crate::support::pod::{ADMIN, LISTEN};
use crate::support::stand::{PORT, Stand};
use crate::support::wire;

#[test]
fn a_client_port_equal_to_the_apps_own_is_kept_with_an_app_on_one_loopback_address() {
    let (stand, _app) = serving("own-bound", "127.0.0.1:8080");
    let client = with_port(PORT);
    let talk = Talk::open(&stand, PORT, client);
    talk.works("one");
    assert_eq!(talk.seen, client);
    assert_eq!(stand.metrics().dials("as_client"), 1);
}

#[test]
fn a_client_port_that_a_wildcard_listener_of_the_pod_owns_is_replaced() {
    let (stand, _app) = serving("own-port", "0.0.0.0:8080");
    for (number, port) in [PORT, LISTEN, ADMIN].into_iter().enumerate() {
        let client = with_port(port);
        let talk = Talk::open(&stand, PORT, client);
        talk.works("one");
        assert_eq!(talk.seen.ip(), client.ip());
        assert_ne!(talk.seen.port(), port);
        assert_eq!(stand.metrics().dials("ephemeral_port"), number as u64 + 1);
    }
}

#[test]
fn port_zero_is_dialled_for_from_an_ephemeral_port_where_it_is_allowed() {
    let config = crate::support::pod::enrolled(PORT);
    let claims = "claims: {portZero: ephemeral}\n  header:";
    let stand = Stand::new(
        "zero",
        &crate::support::stand::with(&config, "header:", claims),
    );
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let client = with_port(0);
    let talk = Talk::open(&stand, PORT, client);
    talk.works("one");
    assert_eq!(talk.seen.ip(), client.ip());
    assert_eq!(stand.metrics().dials("ephemeral_port"), 1);
}

fn with_port(port: u16) -> SocketAddr {
    SocketAddr::new(wire::client4(0).ip(), port)
}

#[track_caller]
fn serving(label: &str, address: &str) -> (Stand, App) {
    let stand = stand(label);
    let app = App::start(&stand.lab.pod.namespace, address, app::echo);
    (stand, app)
}
