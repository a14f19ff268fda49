//! What the admin port tells, and whom.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::support::app::{self, App};
use crate::support::http;
use crate::support::lab::{POD4, POD6};
use crate::support::pod::{ADMIN, enrolled};
use crate::support::stand::{PORT, Stand};
use crate::support::talk::Talk;

#[test]
fn what_shows_clients_or_ends_service_answers_loopback_only() {
    let stand = Stand::new("whom", &enrolled(PORT));
    stand.metrics_when("it is ready", |metrics| metrics.get("ready") == 1);
    let (pod, balancer) = (&stand.lab.pod.namespace, &stand.lab.balancer);
    let status = |from, to, method, path| {
        let answer = http::ask(from, SocketAddr::new(to, ADMIN), method, path);
        answer.expect("the port is open").status
    };
    // Not even the pod's own address is loopback.
    for (from, to) in [(balancer, POD4), (balancer, POD6), (pod, POD4), (pod, POD6)] {
        for path in ["/config", "/connections", "/connections?top=1", "/drain"] {
            assert_eq!(status(from, to, "GET", path), 403, "{path} at {to}");
        }
        assert_eq!(status(from, to, "POST", "/drain"), 403, "{to}");
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(status(from, to, "GET", path), 200, "{path} at {to}");
        }
    }
    for to in [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        for path in ["/config", "/connections", "/livez", "/readyz", "/metrics"] {
            assert_eq!(status(pod, to, "GET", path), 200, "{path} at {to}");
        }
    }
    assert_eq!(stand.ask("GET", "/nothing").status, 404);
    assert_eq!(stand.ask("GET", "/drain").status, 405);
    assert_eq!(stand.ask("POST", "/config").status, 405);
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
