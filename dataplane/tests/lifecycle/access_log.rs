//! The access log: a JSON line for each connection, the last ones before the end of the process.

use std::net::SocketAddr;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, BALANCER6};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::{wait, wire};

/// Connections that are open when the end comes.
const MANY: usize = 500;

#[test]
fn a_line_tells_client_peer_app_version_outcome_and_bytes() {
    let required = "require: [10.9.0.0/24, \"fd00:9::/64\"], optional: []";
    let optional = "require: [10.9.0.0/24], optional: [\"fd00:9::/64\"]";
    let stand = Stand::new("log", &with(&enrolled(PORT), required, optional));
    let _app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::report);
    let v1 = wire::client4(0);
    let v2 = wire::client6(0);
    let (first, last) = ("203.0.113.100:20000 one", "[2001:db8:7::1064]:20000 three");

    let peer = exchange(&stand, &[&wire::v1(v1)[..], b"one"].concat(), first);
    check(
        &stand,
        1,
        &json!({
            "port": "app", "client": v1, "peer": peer, "app": "127.0.0.1:8080", "version": "v1",
            "outcome": "ok", "dialled": "as_client", "bytes_to_app": 3, "bytes_to_client": first.len(),
            "tlvs": {},
        }),
    );
    let peer = exchange(
        &stand,
        &[&wire::v2_of(300, v2)[..], b"three"].concat(),
        last,
    );
    check(
        &stand,
        2,
        &json!({
            "port": "app", "client": v2, "peer": peer, "app": "[::1]:8080", "version": "v2",
            "outcome": "ok", "dialled": "as_client", "bytes_to_app": 5, "bytes_to_client": last.len(),
            "tlvs": { "alpn": "h2", "unique_id": "U".repeat(128) },
        }),
    );
    let peer = exchange(&stand, b"GET / HTTP/1.0\r\n\r\n", "");
    check(
        &stand,
        3,
        &json!({
            "port": "app", "client": null, "peer": peer, "app": null, "version": "none",
            "outcome": "bad_header", "reason": "not_a_header", "dialled": null, "bytes_to_app": 0,
            "bytes_to_client": 0, "tlvs": {},
        }),
    );
    let stream = stand.dial_from(BALANCER6);
    let peer = stream.local_addr().expect("it is connected");
    let answer = wire::exchange(&stream, b"GET");
    assert_eq!(answer, format!("{peer} GET"));
    check(
        &stand,
        4,
        &json!({
            "port": "app", "client": peer, "peer": peer, "app": "[::1]:8080", "version": "none",
            "outcome": "ok", "dialled": "as_client", "bytes_to_app": 3, "bytes_to_client": answer.len(),
            "tlvs": {},
        }),
    );
}

#[test]
fn a_peer_writes_no_line_of_its_own() {
    let stand = Stand::new("log-bad", &enrolled(PORT));
    let stream = stand.dial();
    wire::send(&stream, b"PROXY TCP4 \"\n{\"outcome\":\"ok\"}\r\n");
    wire::ended(&stream).expect("it is closed");
    let log = wait::until("the line is written", PATIENCE, || {
        Some(stand.access_log()).filter(|log| !log.is_empty())
    });
    let told = |field: &str| {
        log.iter()
            .map(|line| line[field].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(told("outcome"), ["bad_header"]);
    assert_eq!(told("reason"), ["v1_line_end"]);
}

#[test]
fn every_line_is_written_before_the_end_of_the_process() {
    let mut stand = Stand::new(
        "log-end",
        &format!("{}drain: {{timeout: 1ms}}\n", enrolled(PORT)),
    );
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let streams = stand.dial_many(MANY).into_iter().enumerate();
    let talks: Vec<_> = streams
        .map(|(number, stream)| Talk::begin(stream, number))
        .collect();
    talks.iter().for_each(Talk::is_greeted);
    stand.signal(Signal::SIGTERM);
    assert_eq!(stand.process().ended(PATIENCE), Some(0));
    let log = stand.access_log();
    assert_eq!(log.len(), MANY);
    assert!(log.iter().all(|line| line["outcome"] == "drained"));
}

/// Sends this and hears that; answers from where.
#[track_caller]
fn exchange(stand: &Stand, request: &[u8], answer: &str) -> SocketAddr {
    let stream = stand.dial_from(BALANCER4);
    assert_eq!(wire::exchange(&stream, request), answer);
    stream.local_addr().expect("it is connected")
}

/// This many lines there are, the last of them with these fields, a time and a duration.
#[track_caller]
fn check(stand: &Stand, count: usize, want: &Value) {
    let mut log = wait::until("the line is written", PATIENCE, || {
        Some(stand.access_log()).filter(|log| log.len() == count)
    });
    let mut line = log.remove(count - 1);
    let fields = line.as_object_mut().expect("a line is an object");
    let time = fields.remove("time");
    let time = time.as_ref().and_then(Value::as_str).unwrap_or_default();
    assert!(
        time.len() == 24 && time.ends_with('Z'),
        "RFC 3339: {time:?}"
    );
    assert!(
        fields
            .remove("duration_ms")
            .is_some_and(|took| took.is_u64())
    );
    assert_eq!(&line, want);
}
