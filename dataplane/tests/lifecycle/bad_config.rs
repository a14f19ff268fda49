//! A configuration that is no good changes nothing, and says what is wrong with it.

use std::fs;
use std::net::{Ipv6Addr, TcpListener};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, POD4};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::{wait, wire};

#[test]
fn a_refused_file_is_named_with_its_fault_until_a_good_one_comes() {
    let (stand, _app) = stand("refused");
    let talk = Talk::open(&stand, 0);
    let faults = [
        (
            with(&enrolled(PORT), "timeout: 5s", "timeout: 1s"),
            "ports[0].header.timeout: shorter than 3s",
        ),
        (
            with(&enrolled(PORT), "maxBytes", "maxbytes"),
            "ports[0].header.maxbytes: unknown field",
        ),
        (
            with(&enrolled(PORT), "[10.9.0.0/24, \"fd00:9::/64\"]", "[]"),
            "ports[0].peers: no peer is listed",
        ),
        ("ports: [".to_owned(), "ports: unclosed bracket"),
    ];
    for (refused, (config, says)) in (1..).zip(faults) {
        stand.configure(&config);
        is_refused(&stand, refused, says);
        talk.says("still here");
    }
    let config = stand.file("config.yaml");
    fs::remove_file(&config).expect("it is our own folder");
    stand.signal(Signal::SIGHUP);
    is_refused(&stand, 5, "could not read");
    Talk::open(&stand, 1).ends();

    stand.configure(&enrolled(PORT));
    wait::until("the fault is forgotten", PATIENCE, || {
        shown(&stand)["lastError"].is_null().then_some(())
    });
    talk.ends();
}

#[test]
fn a_port_that_is_taken_refuses_the_whole_file() {
    let (stand, _app) = stand("taken");
    let pod = &stand.lab.pod.namespace;
    let taken = pod.enter(|| TcpListener::bind((Ipv6Addr::UNSPECIFIED, 15003)));
    let _taken = taken.expect("nobody listens there yet");
    let port = |name: &str, listen: u16| {
        format!(
            "- {{name: {name}, listen: {listen}, app: 8080, peers: {{require: [10.9.0.0/24]}}}}\n"
        )
    };
    let ports = [
        port("free", 15002),
        port("taken", 15003),
        "accessLog:".to_owned(),
    ]
    .concat();
    stand.configure(&with(&enrolled(PORT), "accessLog:", &ports));
    is_refused(&stand, 1, "port taken: could not listen on [::]:15003");
    let dial = || std::net::TcpStream::connect((POD4, 15002));
    assert!(
        stand.lab.balancer.enter(dial).is_err(),
        "the free one is not opened either"
    );
    let stream = wire::dial(&stand.lab.balancer, BALANCER4, (POD4, PORT).into());
    let talk = Talk::begin(stream, 1);
    talk.is_greeted();
    talk.ends();
}

#[track_caller]
fn stand(label: &str) -> (Stand, App) {
    let stand = Stand::new(label, &enrolled(PORT));
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    (stand, app)
}

/// That many files were refused so far, the last one for this reason: `/config`, standard error and
/// the metrics agree.
#[track_caller]
fn is_refused(stand: &Stand, count: u64, says: &str) {
    stand.metrics_when("the file is refused", |metrics| {
        metrics.get("config_loads_total{result=\"refused\"}") == count
    });
    let config = shown(stand);
    let error = config["lastError"].as_str().unwrap_or_default();
    assert!(error.contains(says), "{error:?} does not say {says:?}");
    assert_eq!(config["config"]["ports"][0]["header"]["timeout"], "5s");
    let output = stand.output();
    let line = output
        .lines()
        .rfind(|line| line.contains("the old one stays"));
    let line = line.unwrap_or_default();
    assert!(line.contains(error), "{line:?} does not say {error:?}");
}

#[track_caller]
fn shown(stand: &Stand) -> Value {
    let answer = stand.ask("GET", "/config").body;
    serde_json::from_str(&answer).expect("/config is JSON")
}
