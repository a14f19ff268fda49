//! Clients of one address family and apps of the other.

use std::io::Write;
use std::net::SocketAddr;

use super::talk::Talk;
use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire;

#[test]
fn an_ipv4_client_reaches_an_app_that_has_an_ipv6_address_only_as_a_mapped_one() {
    let stand = stand("mapped", r#"{ipv6: "[::1]:8080"}"#);
    let _app = App::start(&stand.lab.pod.namespace, "[::]:8080", |mut stream, _| {
        let seen = stream.peer_addr().expect("it is connected");
        let _ = stream.write_all(seen.to_string().as_bytes());
    });
    let client = wire::client4(0);
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(client));
    let mapped = format!("[::ffff:{}]:{}", client.ip(), client.port());
    assert_eq!(wire::answer(&stream), mapped);
    let metrics = stand.metrics();
    assert_eq!(
        (
            metrics.get("mapped_dials_total"),
            metrics.dials("as_client")
        ),
        (1, 1)
    );
}

#[test]
fn an_ipv4_client_of_an_app_that_listens_on_ipv6_alone_is_closed() {
    let stand = stand("v6-only", r#"{ipv6: "[::1]:8080"}"#);
    let app = App::start(&stand.lab.pod.namespace, "[::1]:8080", app::echo);
    is_closed(&stand, wire::client4(0), "refused");
    Talk::open(&stand, PORT, wire::client6(0)).works("but its own family works");
    assert_eq!(app.clients(), [wire::client6(0)]);
}

#[test]
fn an_ipv6_client_of_an_ipv4_app_is_closed() {
    let stand = stand("no-family", "{ipv4: 127.0.0.1:8080}");
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    is_closed(&stand, wire::client6(0), "no_family");
    assert_eq!(app.clients(), []);
}

#[test]
fn an_ipv6_client_of_an_ipv4_app_is_dialled_for_from_loopback_where_that_is_asked_for() {
    let app = "{ipv4: 127.0.0.1:8080}\n  missingFamily: unspoofed";
    let stand = stand("unspoofed", app);
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:8080", app::echo);
    let talk = Talk::open(&stand, PORT, wire::client6(0));
    talk.works("one");
    assert!(talk.seen.ip().is_loopback());
    let other = Talk::open(&stand, PORT, wire::client4(0));
    assert_eq!(
        other.seen,
        wire::client4(0),
        "its own family is not concerned"
    );
    let metrics = stand.metrics();
    assert_eq!(
        ["unspoofed", "as_client"].map(|step| metrics.dials(step)),
        [1, 1]
    );
}

/// Closed without an answer, and counted under this reason.
#[track_caller]
fn is_closed(stand: &Stand, client: SocketAddr, reason: &str) {
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(client));
    super::absent::is_reset(&stream);
    let series = format!("dial_errors_total{{reason=\"{reason}\"}}");
    assert_eq!(stand.metrics().get(&series), 1);
}

#[track_caller]
fn stand(label: &str, app: &str) -> Stand {
    let config = with(&enrolled(PORT), "app: 8080", &format!("app: {app}"));
    Stand::new(label, &config)
}
