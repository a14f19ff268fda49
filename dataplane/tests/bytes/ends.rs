//! How connections end: what one side does to its socket reaches the other as the same thing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::wait;
use crate::support::wire::{self, Ended};

/// Less than a socket's first receive window, so that no part of it is lost with the app's socket.
const ANSWER: usize = 32 << 10;

#[test]
fn an_app_that_speaks_first_is_heard_before_the_peer_says_anything() {
    let (stand, _app) = stand("speaks", app::echo);
    let client = wire::client4(0);
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(client));
    assert_eq!(line(&stream), format!("{client}\n"));
    assert_eq!(wire::exchange(&stream, b"and then"), "and then");
}

#[test]
fn a_reset_of_the_peer_reaches_the_app_as_a_reset() {
    let (stand, ends, _app) = watched("peer-rst");
    let stream = greeted(&stand);
    wire::reset(stream);
    assert_eq!(ends.recv_timeout(PATIENCE), Ok(ErrorKind::ConnectionReset));
    stand.metrics_when("it counts as the peer's reset", |m| {
        m.ended("peer_reset") == 1
    });
}

#[test]
fn a_reset_after_a_half_close_reaches_the_app_as_a_reset() {
    let (stand, ends, _app) = watched("late-rst");
    let stream = greeted(&stand);
    wire::end(&stream);
    assert_eq!(ends.recv_timeout(PATIENCE), Ok(ErrorKind::UnexpectedEof));
    wire::reset(stream);
    // The name of a reset in CLOSE_WAIT (tcp_reset, net/ipv4/tcp_input.c).
    assert_eq!(ends.recv_timeout(PATIENCE), Ok(ErrorKind::BrokenPipe));
}

#[test]
fn a_reset_of_the_app_reaches_the_peer_as_a_reset() {
    let (stand, _app) = stand("app-rst", |mut stream, client| {
        let _ = stream.write_all(format!("{client}\n").as_bytes());
        let _ = stream.read_exact(&mut [0]);
        wire::reset(stream);
    });
    let stream = greeted(&stand);
    wire::send(&stream, b"x");
    assert_eq!(wire::ended(&stream), Ok(Ended::Reset));
    stand.metrics_when("it counts as the app's reset", |m| {
        m.ended("app_reset") == 1
    });
}

#[test]
fn an_answer_arrives_whole_though_the_app_closes_without_reading_everything() {
    let (stand, _app) = stand("answers", |mut stream, _| {
        let _ = stream.read_exact(&mut [0]);
        let _ = stream.write_all(&[b'a'; ANSWER]);
    });
    let stream = stand.dial();
    let mut request = wire::v1(wire::client4(0));
    request.resize(request.len() + (64 << 10), b'r');
    wire::send(&stream, &request);
    let mut answer = vec![0; ANSWER];
    let read = (&stream).read_exact(&mut answer);
    read.expect("the answer arrives before the reset");
    assert!(answer.iter().all(|byte| *byte == b'a'));
}

#[test]
fn an_answer_arrives_whole_though_the_peer_is_still_sending() {
    let (stand, _app) = stand("uploads", |mut stream, _| {
        let _ = stream.read_exact(&mut [0]);
        let _ = stream.write_all(&[b'a'; ANSWER]);
        let _ = stream.shutdown(Shutdown::Write);
    });
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(wire::client4(0)));
    // Until the app's socket is gone and the dataplane says so.
    while (&stream).write_all(&[b'r'; 4096]).is_ok() {}
    let mut answer = vec![0; ANSWER];
    let read = (&stream).read_exact(&mut answer);
    read.expect("the answer was there before the reset");
}

/// A dataplane before this app.
#[track_caller]
pub fn stand(
    label: &str,
    serve: impl Fn(TcpStream, std::net::SocketAddr) + Send + Sync + 'static,
) -> (Stand, App) {
    let stand = Stand::new(label, &enrolled(PORT));
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", serve);
    (stand, app)
}

/// An app that greets, then tells how its reads end: an end of the stream, then what follows.
#[track_caller]
fn watched(label: &str) -> (Stand, Receiver<ErrorKind>, App) {
    let (told, ends) = channel();
    let (stand, app) = stand(label, move |mut stream, client| {
        let _ = stream.write_all(format!("{client}\n").as_bytes());
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            let _ = told.send(error.kind());
            return;
        }
        let _ = told.send(ErrorKind::UnexpectedEof);
        let error = wait::until("an error on the app's socket", PATIENCE, || {
            stream.take_error().ok().flatten()
        });
        let _ = told.send(error.kind());
    });
    (stand, ends, app)
}

/// A connection on which the app has spoken.
#[track_caller]
fn greeted(stand: &Stand) -> TcpStream {
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(wire::client4(0)));
    line(&stream);
    stream
}

/// Reads up to a line feed, and nothing behind it.
#[track_caller]
fn line(mut stream: &TcpStream) -> String {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the app greets");
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("the app speaks text")
}
