//! Apps that are not there, or too busy to answer.

use std::net::TcpStream;

use socket2::{Domain, Socket, Type};

use super::talk::Talk;
use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire::{self, Ended};

#[test]
fn an_app_that_does_not_listen_costs_the_connection_alone() {
    let stand = Stand::new("absent", &enrolled(PORT));
    for client in [wire::client4(0), wire::client6(0)] {
        let stream = stand.dial();
        wire::send(&stream, &wire::v2(client));
        is_reset(&stream);
    }
    let metrics = stand.metrics();
    assert_eq!(metrics.get(r#"dial_errors_total{reason="refused"}"#), 2);
    assert_eq!(metrics.ended("dial_failed"), 2);
    let _app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::echo);
    Talk::open(&stand, PORT, wire::client4(0)).works("now it listens");
    Talk::open(&stand, PORT, wire::client6(0)).works("on both");
}

#[test]
fn an_app_whose_backlog_is_full_ends_the_wait_at_the_connect_time_out() {
    let timeouts = "timeouts: {connect: 1s}\n  header:";
    let stand = Stand::new("backlog", &with(&enrolled(PORT), "header:", timeouts));
    let app = stand.lab.pod.namespace.enter(|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let address: std::net::SocketAddr = "127.0.0.1:8080".parse().expect("an address");
        socket.bind(&address.into())?;
        // One connection fits.
        socket.listen(0).map(|()| socket)
    });
    let app = app.expect("the app listens");
    let streams = stand.dial_many(2);
    wire::send(&streams[0], &wire::v1(wire::client4(0)));
    stand.metrics_when("the first one waits for the app", |metrics| {
        metrics.dials("as_client") == 1
    });
    wire::send(&streams[1], &wire::v1(wire::client4(1)));
    is_reset(&streams[1]);
    assert_eq!(
        stand
            .metrics()
            .get(r#"dial_errors_total{reason="timed_out"}"#),
        1
    );
    let (first, client) = app.accept().expect("it waits");
    assert_eq!(client.as_socket(), Some(wire::client4(0)));
    drop(first);
}

/// The peer is not told that an answer is complete.
#[track_caller]
pub fn is_reset(stream: &TcpStream) {
    assert_eq!(wire::ended(stream), Ok(Ended::Reset));
}
