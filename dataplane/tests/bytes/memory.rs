//! Slow readers cost memory up to a bound, not with the traffic that others push at them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::app::App;
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::{wait, wire};

const CONNECTIONS: usize = 1000;

/// What the dataplane may hold of a direction whose sink has stopped, in KiB: the longest read,
/// which a sink that kept up until then has earned (the memory note in ARCHITECTURE.md).
const HELD_KIB: u64 = 64;

/// What the readers take before the memory is looked at, and again before it is compared.
const TRAFFIC: usize = 512 << 20;

/// How much the memory may grow over that traffic, in KiB: how much is held varies a little.
const GROWTH_KIB: u64 = 16 << 10;

/// Small socket buffers: a thousand full ones of the default size are the machine's whole share of
/// memory for TCP.
const BUFFERS: &str = "sysctl -qw net.ipv4.tcp_wmem='4096 65536 131072'
                       sysctl -qw net.ipv4.tcp_rmem='4096 65536 131072'";

#[test]
fn a_thousand_peers_that_do_not_read_cost_a_bounded_amount_of_memory() {
    let (stand, peers, apps) = connected("deaf-peers");
    check(&stand, &apps, &peers);
}

#[test]
fn a_thousand_connections_of_an_app_that_does_not_read_cost_a_bounded_amount_of_memory() {
    let (stand, peers, apps) = connected("deaf-app");
    check(&stand, &peers, &apps);
}

/// Pushes until nothing moves any more, lets the readers take a little and pushes again, over and
/// over: every direction runs at full speed and is stopped again many times.
#[track_caller]
fn check(stand: &Stand, writers: &[TcpStream], readers: &[TcpStream]) {
    let idle = stand.resident_kib();
    let pushed = push(writers) >> 20;
    let first = most_during_traffic(stand, writers, readers);
    let second = most_during_traffic(stand, writers, readers);
    eprintln!(
        "{CONNECTIONS} connections, {pushed} MiB pushed: {idle} KiB idle, {first} KiB at most, \
         {second} KiB over {} MiB more",
        TRAFFIC >> 20
    );
    assert!(
        second <= first + GROWTH_KIB,
        "{first} KiB grew to {second} KiB"
    );
    let bound = idle + HELD_KIB * CONNECTIONS as u64;
    assert!(first.max(second) <= bound, "more than {bound} KiB");
}

/// The largest resident memory in KiB.
#[track_caller]
fn most_during_traffic(stand: &Stand, writers: &[TcpStream], readers: &[TcpStream]) -> u64 {
    let mut taken = 0;
    let mut most = 0;
    while taken < TRAFFIC {
        taken += take(readers);
        push(writers);
        most = stand.resident_kib().max(most);
    }
    most
}

/// A thousand established connections: the peers' ends and the app's.
#[track_caller]
fn connected(label: &str) -> (Stand, Vec<TcpStream>, Vec<TcpStream>) {
    let stand = Stand::new(label, &with(&enrolled(PORT), "mode: all", "mode: errors"));
    stand.lab.pod.namespace.sh(BUFFERS);
    stand.lab.balancer.sh(BUFFERS);
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&accepted);
    let _app = App::start(
        &stand.lab.pod.namespace,
        "0.0.0.0:8080",
        move |stream, _| {
            keep.lock().expect("nobody panics holding it").push(stream);
        },
    );
    let peers = stand.dial_many(CONNECTIONS);
    for (number, peer) in peers.iter().enumerate() {
        wire::send(peer, &wire::v1(wire::client4(number)));
    }
    let apps = wait::until("the app accepts all", PATIENCE, || {
        let mut accepted = accepted.lock().expect("nobody panics holding it");
        (accepted.len() == CONNECTIONS).then(|| std::mem::take(&mut *accepted))
    });
    for stream in peers.iter().chain(&apps) {
        stream.set_nonblocking(true).expect("it is a socket");
    }
    (stand, peers, apps)
}

/// Writes to all until a few rounds bring nothing; answers how many bytes went in.
fn push(writers: &[TcpStream]) -> usize {
    let piece = vec![b'p'; 64 << 10];
    let mut pushed = 0;
    let mut idle_rounds = 0;
    while idle_rounds < 5 {
        let round: usize = writers
            .iter()
            .map(|writer| until_blocked(|| (&*writer).write(&piece)))
            .sum();
        pushed += round;
        if round == 0 {
            idle_rounds += 1;
            thread::park_timeout(Duration::from_millis(20));
        } else {
            idle_rounds = 0;
        }
    }
    pushed
}

/// Reads what is there for each reader.
fn take(readers: &[TcpStream]) -> usize {
    let mut buffer = vec![0; 64 << 10];
    readers
        .iter()
        .map(|reader| until_blocked(|| (&*reader).read(&mut buffer)))
        .sum()
}

#[track_caller]
fn until_blocked(mut act: impl FnMut() -> std::io::Result<usize>) -> usize {
    let mut sum = 0;
    loop {
        match act() {
            Ok(n) if n > 0 => sum += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return sum,
            other => panic!("the connection ended: {other:?}"),
        }
    }
}
