//! A new configuration under load, and one that is no good.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::Signal;

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::wire;

/// Reloads while connections come and go.
const RELOADS: u64 = 50;

const APPLIED: &str = "config_loads_total{result=\"applied\"}";
const REFUSED: &str = "config_loads_total{result=\"refused\"}";

fn stand(label: &str) -> (Stand, App) {
    let stand = Stand::new(label, &enrolled(PORT));
    let app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::echo);
    (stand, app)
}

/// Another configuration each time: the header time-out changes.
fn changed(number: u64) -> String {
    with(
        &enrolled(PORT),
        "timeout: 5s",
        &format!("timeout: {}s", 6 + number),
    )
}

#[test]
fn fifty_reloads_under_load_lose_no_connection() {
    let (stand, _app) = stand("reloads");
    let established = Talk::open(&stand, 0);
    let over = AtomicBool::new(false);
    let made = thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut made = 0;
            while !over.load(Ordering::Relaxed) {
                made += 1;
                Talk::open(&stand, made).ends();
            }
            made
        });
        for number in 1..=RELOADS {
            stand.configure(&changed(number));
            stand.signal(Signal::SIGHUP);
            // The first load is the start's. The file is looked at by itself, too.
            stand.metrics_when("the reload is over", |metrics| {
                metrics.get(APPLIED) > number
            });
        }
        over.store(true, Ordering::Relaxed);
        load.join().expect("no connection is lost")
    });
    eprintln!("{made} connections during {RELOADS} reloads");
    established.says("still here");
    established.ends();
    let all = made as u64 + 1;
    let metrics = stand.metrics_when("all have ended", |metrics| metrics.ended("ok") >= all);
    assert_eq!(metrics.ended("ok"), all);
    assert_eq!(metrics.sum("connections_total"), all);
}

#[test]
fn a_changed_file_is_taken_over_without_a_signal() {
    let (stand, _app) = stand("changed");
    stand.configure(&changed(1));
    stand.metrics_when("the change was seen", |metrics| metrics.get(APPLIED) == 2);
    assert!(
        stand
            .ask("GET", "/config")
            .body
            .contains("\"timeout\": \"7s\"")
    );
}

#[test]
fn a_bad_configuration_is_refused_by_name_and_the_old_one_stays() {
    let (stand, _app) = stand("bad");
    let talk = Talk::open(&stand, 1);
    stand.configure(&with(&enrolled(PORT), "timeout: 5s", "timeout: 1s"));
    stand.metrics_when("the file was refused", |metrics| metrics.get(REFUSED) == 1);
    let config = stand.ask("GET", "/config").body;
    assert!(config.contains("\"timeout\": \"5s\""), "{config}");
    assert!(
        config.contains("ports[0].header.timeout"),
        "lastError says why: {config}"
    );
    assert!(
        stand.output().contains("the new configuration is refused"),
        "{}",
        stand.output()
    );
    talk.says("still here");
    talk.ends();
    Talk::open(&stand, 2).ends();
}

#[test]
fn a_port_comes_and_goes_while_its_connections_go_on() {
    let (stand, _app) = stand("ports");
    let second = "- {name: other, listen: 15002, app: 8080, peers: {require: [10.9.0.0/24]}}\n";
    let both = with(
        &enrolled(PORT),
        "accessLog:",
        &format!("{second}accessLog:"),
    );

    stand.configure(&both);
    stand.metrics_when("the port came", |metrics| metrics.get(APPLIED) == 2);
    let to = (crate::support::lab::POD4, 15002).into();
    let stream = wire::dial(&stand.lab.balancer, crate::support::lab::BALANCER4, to);
    let talk = Talk::begin(stream, 7);
    talk.is_greeted();

    stand.configure(&enrolled(PORT));
    stand.metrics_when("the port went", |metrics| metrics.get(APPLIED) == 3);
    talk.says("still here");
    talk.ends();
    let gone = stand
        .lab
        .balancer
        .enter(|| std::net::TcpStream::connect(to));
    assert!(gone.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused));
}

#[test]
fn a_peer_that_is_no_longer_listed_is_refused_from_then_on() {
    let (stand, _app) = stand("trust");
    let established = Talk::open(&stand, 1);
    stand.configure(&with(&enrolled(PORT), "10.9.0.0/24", "10.99.0.0/24"));
    stand.metrics_when("the list changed", |metrics| metrics.get(APPLIED) == 2);
    drop(stand.dial());
    stand.metrics_when("the peer is refused", |metrics| {
        metrics.ended("untrusted") == 1
    });
    established.says("still here");
    established.ends();
}
