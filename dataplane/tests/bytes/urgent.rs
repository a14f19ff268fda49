//! Urgent data (RFC 6093): telnet and FTP send bytes "out of band", at which a read stops. They arrive in
//! their place among the others, without the urgency.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, send};

use crate::ends::stand;
use crate::support::app;
use crate::support::stand::Stand;
use crate::support::wire;

/// Enough to be spliced.
const BULK: usize = 1 << 20;

/// Often: what is read at once is a matter of chance. (A stopped dataplane would be no help: with a signal
/// pending, the kernel refuses to read at urgent data, tcp_recvmsg_locked.)
const TIMES: usize = 60;

#[test]
fn urgent_bytes_of_the_peer_arrive_in_their_place() {
    let (stand, _app) = stand("urgent", app::report);
    for time in 1..=TIMES {
        let stream = begun(&stand, b"");
        interrupt(&stream);
        // Without an end of the peer's, which would make everything be read again.
        stand.metrics_when("all of it went to the app", |metrics| {
            metrics.get("relayed_bytes_total{direction=\"to_app\"}") == (time * 5) as u64
        });
        wire::end(&stream);
        is_reported(&stream, " abXcd");
    }
}

#[test]
fn urgent_bytes_of_a_peer_that_ends_arrive_in_their_place() {
    let (stand, _app) = stand("urgent-end", app::report);
    for _ in 0..TIMES {
        let stream = begun(&stand, b"");
        interrupt(&stream);
        wire::end(&stream);
        is_reported(&stream, " abXcd");
    }
}

#[test]
fn urgent_bytes_behind_bulk_arrive_in_their_place() {
    let (stand, _app) = stand("urgent-bulk", app::report);
    for _ in 0..TIMES {
        let stream = begun(&stand, b"");
        wire::send(&stream, &[b'.'; BULK]);
        interrupt(&stream);
        wire::end(&stream);
        is_reported(&stream, ".abXcd");
    }
}

#[test]
fn urgent_bytes_of_the_app_arrive_in_their_place() {
    let (stand, _app) = stand("urgent-app", |stream, _| {
        let _ = (&stream).read_exact(&mut [0]);
        interrupt(&stream);
        // Not an end: what stands behind the urgent byte must come without one.
        let _ = (&stream).read_exact(&mut [0]);
    });
    for _ in 0..TIMES {
        let stream = begun(&stand, b"");
        wire::send(&stream, b"x");
        let mut answer = [0; 5];
        (&stream).read_exact(&mut answer).expect("all of it comes");
        assert_eq!(&answer, b"abXcd");
    }
}

/// A connection that is relayed, with so much sent and read.
#[track_caller]
fn begun(stand: &Stand, payload: &[u8]) -> TcpStream {
    let stream = stand.dial();
    wire::send(
        &stream,
        &[&wire::v1(wire::client4(0))[..], payload].concat(),
    );
    stand.has_read_everything();
    stream
}

/// `ab`, then `X` urgently, then `cd`.
fn interrupt(mut stream: &TcpStream) {
    let sent = stream
        .write_all(b"ab")
        .and_then(|()| Ok(send(stream.as_raw_fd(), b"X", MsgFlags::MSG_OOB)?))
        .and_then(|_| stream.write_all(b"cd"));
    sent.expect("a few bytes fit the socket");
}

#[track_caller]
fn is_reported(stream: &TcpStream, end: &str) {
    let answer = wire::answer(stream);
    let shown = answer.get(answer.len().saturating_sub(40)..);
    assert!(answer.ends_with(end), "{shown:?}");
}
