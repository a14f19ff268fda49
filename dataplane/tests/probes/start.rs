//! How probes are given, and what is refused.

use std::net::Ipv6Addr;

use serde_json::json;

use super::asker::{ask, get, stand};
use crate::support::http;
use crate::support::lab::POD4;
use crate::support::pod::{ADMIN, enrolled};
use crate::support::stand::{PORT, Stand};

#[test]
fn an_unknown_probe_is_told_the_known_ones() {
    let probes = json!({"web/liveness": get(8080, "/"), "db/startup": get(8080, "/")});
    let stand = stand("unknown", &probes);
    for other in ["web/readiness", "web/live", "web", "", "a/b/c"] {
        let answer = ask(&stand, other);
        assert_eq!(answer.status, 404, "{other}");
        let known = answer
            .body
            .ends_with("these are: db/startup web/liveness\n");
        assert!(known, "{}", answer.body);
    }
    let admin = (POD4, ADMIN).into();
    let path = "/app-probe/web/liveness";
    let answer = http::ask(&stand.lab.balancer, admin, "POST", path);
    assert_eq!(answer.expect("it answers").status, 405);
}

#[test]
fn a_malformed_probe_refuses_to_start_and_names_key_and_fix() {
    let config = enrolled(PORT);
    let stand = Stand::prepared("malformed", &config);
    let path = stand.configure(&config);
    let path = path.to_str().expect("a plain name");
    let flags = [
        "-l",
        "[::]:15001",
        "-4",
        "127.0.0.1:8080",
        "-6",
        "[::1]:8080",
    ];
    let networks = stand.file("networks");
    std::fs::write(&networks, "10.9.0.0/24\n").expect("it is our folder");
    let networks = networks.to_str().expect("a plain name");
    let good = json!({"web/liveness": get(8080, "/")}).to_string();
    let bad = good.replace("\"path\"", "\"pfad\"");
    let says =
        "--probes: web/liveness.http.pfad: unknown field `pfad`, expected one of `scheme`, `path`";
    for check in [&["--check"][..], &[]] {
        let words = [&["serve", "--config", path, "--probes", &bad], check].concat();
        refused(&stand, &words, says);
    }
    let words = ["serve", "--config", path, "--check", "--probes", &good];
    assert!(stand.run(&words).status.success());
    let words = [
        &flags[..],
        &["--allowed-subnets", networks, "--probes", &good],
    ]
    .concat();
    refused(
        &stand,
        &words,
        "--probes: there is no admin port to answer on",
    );
}

#[track_caller]
fn refused(stand: &Stand, words: &[&str], says: &str) {
    let output = stand.run(words);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words:?}: {error}");
    let last = error.lines().last().unwrap_or_default();
    assert!(last.starts_with(says), "{last:?} is not {says:?}");
}

#[test]
fn the_environment_names_probes_too() {
    let config = enrolled(PORT);
    let mut stand = Stand::prepared("environment", &config);
    let path = stand.configure(&config);
    let probes = json!({"web/liveness": get(8080, "/")});
    let probes = format!("PROXYUNWRAP_PROBES={probes}");
    let words = ["serve", "--config", path.to_str().expect("a plain name")];
    let listens = (Ipv6Addr::UNSPECIFIED, ADMIN).into();
    stand.launch(&["env", &probes], &words, &[listens]);
    assert_eq!(ask(&stand, "web/liveness").status, 503);
}
