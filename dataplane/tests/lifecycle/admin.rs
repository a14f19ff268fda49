//! What the admin port tells, and whom.

use std::net::SocketAddr;

use crate::support::app::{self, App};
use crate::support::http;
use crate::support::lab::POD4;
use crate::support::pod::{ADMIN, enrolled};
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::talk::Talk;
use crate::support::wait;

#[test]
fn what_shows_clients_or_ends_service_answers_loopback_only() {
    let stand = Stand::new("whom", &enrolled(PORT));
    let from_outside = |method, path| {
        let to = SocketAddr::new(POD4, ADMIN);
        http::ask(&stand.lab.balancer, to, method, path)
            .expect("the port is open")
            .status
    };
    for path in ["/config", "/connections"] {
        assert_eq!(from_outside("GET", path), 403, "{path}");
        assert_eq!(stand.ask("GET", path).status, 200, "{path}");
    }
    assert_eq!(from_outside("POST", "/drain"), 403);
    for path in ["/livez", "/metrics"] {
        assert_eq!(from_outside("GET", path), 200, "{path}");
    }
    assert_eq!(stand.ask("GET", "/nothing").status, 404);
    assert_eq!(stand.ask("GET", "/drain").status, 405);
}

#[test]
fn readiness_names_what_is_missing_and_comes_back_with_it() {
    let stand = Stand::new("ready", &enrolled(PORT));
    let ready = |status| {
        wait::until("readiness follows", PATIENCE, || {
            Some(stand.ask("GET", "/readyz")).filter(|answer| answer.status == status)
        })
    };
    ready(200);
    let pod = &stand.lab.pod.namespace;
    pod.sh("ip rule del pref 1");
    let answer = ready(503);
    assert!(
        answer.body.contains("cannot dial the app as a client"),
        "{}",
        answer.body
    );
    let rule = "rule \"from 127.0.0.0/8 iif lo lookup local\" is missing";
    assert!(answer.body.contains(rule), "{}", answer.body);
    stand.lab.pod.init(&enrolled(PORT));
    ready(200);
}

#[test]
fn open_connections_are_listed_with_client_and_peer() {
    let stand = Stand::new("list", &enrolled(PORT));
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let talks: Vec<_> = (0..3).map(|number| Talk::open(&stand, number)).collect();
    let answer = stand.ask("GET", "/connections?top=2");
    let value: serde_json::Value = serde_json::from_str(&answer.body).expect("it is JSON");
    assert_eq!((&value["open"], &value["shown"]), (&3.into(), &2.into()));
    assert_eq!(value["connections"][0]["stage"], "relay");
    assert!(value["connections"][0]["client"].is_string());
    assert_eq!(stand.ask("GET", "/connections?top=x").status, 400);
    talks.into_iter().for_each(Talk::ends);
}
