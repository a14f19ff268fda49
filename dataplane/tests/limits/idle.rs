//! `timeouts.idle`: nothing moving ends a connection, anything moving keeps it.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::plus;
use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::wire;

const IDLE: Duration = Duration::from_secs(2);

#[test]
fn an_idle_connection_ends_while_a_busy_neighbour_goes_on() {
    let (stand, _app) = stand("idle", app::echo);
    let busy = Talk::open(&stand, 0);
    let idle = Talk::open(&stand, 1);
    let since = Instant::now();
    let ended = while_open(&idle.stream, || busy.says("busy"));
    let after = since.elapsed();
    eprintln!("idle for {IDLE:?}, ended after {after:?}");
    assert_eq!(ended, Some(ErrorKind::ConnectionReset));
    assert!(
        after >= IDLE - Duration::from_millis(100),
        "too early: {after:?}"
    );
    busy.says("still here");
    assert_eq!(stand.metrics().ended("idle"), 1);
    busy.ends();
}

#[test]
fn bytes_in_one_direction_alone_keep_a_connection() {
    let (stand, _app) = stand("one-way", |mut stream, _| {
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let [upload, idle] = [0, 1].map(|number| Talk::begin(stand.dial(), number));
    while_open(&idle.stream, || wire::send(&upload.stream, b"up"));
    // It is the older one; without its bytes it would have ended first.
    wire::send(&upload.stream, b"up");
    assert_eq!(wire::exchange(&upload.stream, b"up"), "");
    stand.metrics_when("both have ended", |metrics| {
        (metrics.ended("idle"), metrics.ended("ok")) == (1, 1)
    });
}

#[track_caller]
fn stand(
    label: &str,
    serve: impl Fn(TcpStream, std::net::SocketAddr) + Send + Sync + 'static,
) -> (Stand, App) {
    let header = "  header: {versions";
    let config = with(
        &enrolled(PORT),
        header,
        &format!("  timeouts: {{idle: 2s}}\n{header}"),
    );
    let stand = Stand::new(label, &plus(&config, "workers: 1"));
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", serve);
    (stand, app)
}

/// Acts ten times a second until this stream ends; answers by which error it did.
#[track_caller]
fn while_open(mut stream: &TcpStream, mut act: impl FnMut()) -> Option<ErrorKind> {
    let again = [ErrorKind::WouldBlock, ErrorKind::Interrupted];
    wire::be_patient(stream, Duration::from_millis(100));
    loop {
        act();
        match stream.read(&mut [0]) {
            Ok(n) => return (n > 0).then(|| panic!("nobody speaks on an idle connection")),
            Err(error) if again.contains(&error.kind()) => {}
            Err(error) => return Some(error.kind()),
        }
    }
}
