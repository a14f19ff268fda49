//! The access log: a line of JSON for each connection, which says how it went.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::{wait, wire};

#[test]
fn a_line_tells_client_peer_app_version_outcome_and_bytes() {
    let stand = Stand::new("log", &enrolled(PORT));
    let _app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::report);
    let (first, second) = (wire::client4(1), wire::client6(2));
    let cases = [
        (wire::v1(first), "v1", first, "127.0.0.1:8080"),
        (wire::v2_of(200, second), "v2", second, "[::1]:8080"),
    ];
    for (number, (header, version, client, app)) in cases.into_iter().enumerate() {
        let stream = stand.dial();
        let peer = stream.local_addr().expect("it is connected");
        let answer = wire::exchange(&stream, &[&header[..], b"payload"].concat());
        let line = line(&stand, number);
        let got = without_times(&line, client, peer);
        let want = json!({
            "port": "app", "version": version, "app": app, "dialled": "as_client",
            "outcome": "ok", "bytes_to_app": 7, "bytes_to_client": answer.len(),
        });
        assert_eq!(got, want, "{line}");
    }
}

#[test]
fn a_refused_connection_tells_its_reason_and_no_byte_of_the_peers() {
    let stand = Stand::new("log-bad", &enrolled(PORT));
    let stream = stand.dial();
    let peer = stream.local_addr().expect("it is connected").to_string();
    wire::send(&stream, b"PROXY TCP4 \"\n{\"outcome\":\"ok\"}\r\n");
    wire::ended(&stream).expect("it is closed");
    let line = line(&stand, 0);
    assert_eq!(line["peer"], json!(peer));
    assert_eq!(line["client"], Value::Null);
    assert_eq!(line["outcome"], json!("bad_header"));
    assert_eq!(line["reason"], json!("v1_line_end"));
    assert_eq!(
        stand.access_log().len(),
        1,
        "a peer writes no line of its own"
    );
}

/// The line of this number, once it is written.
#[track_caller]
fn line(stand: &Stand, number: usize) -> Value {
    wait::until("the access log has the line", PATIENCE, || {
        stand.access_log().into_iter().nth(number)
    })
}

/// What is left of a line when client and peer are right and the times are there.
#[track_caller]
fn without_times(line: &Value, client: SocketAddr, peer: SocketAddr) -> Value {
    let mut fields = line.as_object().expect("a line is an object").clone();
    let mut take = |field: &str| fields.remove(field).unwrap_or_default();
    assert_eq!(take("client"), json!(client.to_string()));
    assert_eq!(take("peer"), json!(peer.to_string()));
    assert!(
        take("time").is_string() && take("duration_ms").is_u64(),
        "{line}"
    );
    assert!(take("tlvs").is_object(), "{line}");
    Value::Object(fields)
}
