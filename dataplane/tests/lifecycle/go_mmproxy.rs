//! go-mmproxy's command line, without a word changed: after `init` and in go-mmproxy's own setup.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use super::as_root::{self, SETS};
use crate::support::app::{self, App};
use crate::support::http;
use crate::support::lab::{BALANCER4, Lab, POD4};
use crate::support::metrics::Metrics;
use crate::support::namespace::Namespace;
use crate::support::pod::enrolled;
use crate::support::process::Folder;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::{wait, wire};

/// What go-mmproxy's README has one run, for both families.
const CLASSIC: &str = "ip rule add from 127.0.0.1/8 iif lo table 123
                       ip route add local 0.0.0.0/0 dev lo table 123
                       ip -6 rule add from ::1/128 iif lo table 123
                       ip -6 route add local ::/0 dev lo table 123";

/// Where it listens, and the apps of both families.
const LISTEN: &str = "0.0.0.0:15001";
const APPS: [&str; 2] = ["127.0.0.1:8080", "[::1]:8080"];

const ADMIN: &str = "127.0.0.1:15090";

/// NET_ADMIN and NET_RAW, bits 12 and 13 (linux/capability.h).
const KEPT: &str = "0000000000003000";

#[test]
fn its_command_line_needs_no_capability_after_init() {
    let mut stand = Stand::prepared("mm-init", &enrolled(PORT));
    let _apps = apps(&stand.lab.pod.namespace);
    let subnets = subnets(stand.folder());
    stand.launch(
        &[],
        &words(&subnets),
        &[LISTEN.parse().expect("an address")],
    );
    serves_both_families(&stand.lab, PORT);
    assert_eq!(stand.status("CapPrm"), "0000000000000000");
    is_logged(|| stand.output());
}

#[test]
fn its_rules_and_routes_and_root_are_enough_without_init() {
    let lab = Lab::new("mm-root");
    lab.pod.namespace.sh(CLASSIC);
    let _apps = apps(&lab.pod.namespace);
    let folder = Folder::new();
    let subnets = subnets(folder.path());
    let words = [&words(&subnets)[..], &["--admin", ADMIN]].concat();
    let process = as_root::start(&lab, &words, LISTEN.parse().expect("an address"));
    serves_both_families(&lab, 15001);
    let status = |field| as_root::status(process.pid(), field);
    let kept = [
        ["CapInh", "CapAmb"].map(status),
        ["CapPrm", "CapEff"].map(status),
    ];
    assert_eq!(kept, [["0000000000000000"; 2], [KEPT; 2]]);
    assert_eq!(SETS.map(status)[3], KEPT, "CapBnd");
    is_logged(|| process.output());
    let ask = |path| {
        let to = ADMIN.parse().expect("an address");
        http::ask(&lab.pod.namespace, to, "GET", path).expect("the admin port answers")
    };
    wait::until("its self-test passes", PATIENCE, || {
        (ask("/readyz").status == 200).then_some(())
    });
    let metrics = Metrics::parse(&ask("/metrics").body);
    let build = format!(
        "build_info{{version=\"{}\",source_mode=\"transparent\"}}",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(metrics.get(&build), 1);
}

/// A list of subnets with one line that is none.
#[track_caller]
fn subnets(folder: &Path) -> String {
    let path = folder.join("subnets.txt");
    fs::write(&path, "# the balancer\n10.9.0.0/24\n").expect("it is our own folder");
    path.to_str().expect("a plain name").to_owned()
}

fn words(subnets: &str) -> [&str; 10] {
    let [v4, v6] = APPS;
    let list = "--allowed-subnets";
    ["-l", LISTEN, "-4", v4, "-6", v6, list, subnets, "-v", "2"]
}

fn apps(pod: &Namespace) -> [App; 2] {
    APPS.map(|address| App::start(pod, address, app::report))
}

/// Clients of both families reach their app as themselves, by both versions of the header.
#[track_caller]
fn serves_both_families(lab: &Lab, port: u16) {
    for client in [wire::client4(1), wire::client6(1)] {
        for (header, payload) in [(wire::v1(client), "one"), (wire::v2(next(client)), "two")] {
            let stream = wire::dial(&lab.balancer, BALANCER4, (POD4, port).into());
            let answer = wire::exchange(&stream, &[&header[..], payload.as_bytes()].concat());
            let seen = if payload == "one" {
                client
            } else {
                next(client)
            };
            assert_eq!(answer, format!("{seen} {payload}"));
        }
    }
}

/// The same client on its next port.
fn next(client: SocketAddr) -> SocketAddr {
    SocketAddr::new(client.ip(), client.port() + 1)
}

/// `-v 2`: a line for each of these connections.
#[track_caller]
fn is_logged(output: impl Fn() -> String) {
    let versions = wait::until("four lines in the log", PATIENCE, || {
        let output = output();
        let lines = output
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let versions: Vec<_> = lines.map(|line: Value| line["version"].clone()).collect();
        (versions.len() == 4).then_some(versions)
    });
    assert_eq!(versions, ["v1", "v2", "v1", "v2"]);
}
