//! Running out of descriptors costs the connections there was none for, and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::TcpStream;
use std::process::Command;

use super::plus;
use crate::support::app::{self, App};
use crate::support::metrics::Metrics;
use crate::support::pod::{LISTEN, enrolled};
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::{queues, wait, wire};

const LIMIT: &str = "accept_pauses_total{reason=\"limit\"}";
const PAUSES: &str = "accept_pauses_total{reason=\"exhausted\"}";
const DIALS: &str = "dial_errors_total{reason=\"exhausted\"}";

/// Descriptors that are free when a crowd of silent peers comes.
const FREE: usize = 11;

/// Looks at the descriptors, ten milliseconds apart.
const LOOKS: u32 = 20;

#[test]
fn a_low_limit_of_descriptors_bounds_connections_and_none_fails() {
    let mut stand = Stand::prepared("nofile", &config());
    stand.start_under(&["prlimit", "--nofile=100:100"], &config());
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    // (100 - 64) / 2, as docs/configuration.md says.
    let talks: Vec<_> = (0..18).map(|number| Talk::open(&stand, number)).collect();
    let late: Vec<_> = (18..100)
        .map(|number| Talk::begin(stand.dial(), number))
        .collect();
    stand.metrics_when("it pauses", |metrics| metrics.get(LIMIT) == 1);
    talks.into_iter().for_each(Talk::ends);
    for talk in late {
        talk.is_greeted();
        talk.ends();
    }
    let metrics = stand.metrics_when("all have ended", |m| m.ended("ok") == 100);
    assert_eq!(metrics.sum("dial_errors_total") + metrics.get(PAUSES), 0);
}

#[test]
fn a_dial_without_a_descriptor_ends_that_connection_alone() {
    let (stand, _app, old) = exhausted("dial");
    let silent = fill(&stand, FREE - 1);
    let client = wire::client4(1);
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(client));
    Talk { stream, client }.is_reset();
    old.says("still here");
    let metrics = recovered(&stand, silent);
    assert_eq!(metrics.get(DIALS), 1, "{metrics}");
    assert_eq!(metrics.ended("dial_failed"), 1, "{metrics}");
}

#[test]
fn a_newcomer_waits_while_there_is_no_descriptor_to_accept_it() {
    let (stand, _app, old) = exhausted("accept");
    let silent = fill(&stand, FREE);
    let newcomer = stand.dial();
    wait::until("the newcomer waits in the backlog", PATIENCE, || {
        let backlog = queues::of(&stand.lab.pod.namespace, Some(LISTEN)).unread;
        (backlog == 1).then_some(())
    });
    old.says("still here");
    let metrics = recovered(&stand, silent);
    assert!(metrics.get(PAUSES) > 0, "{metrics}");
    assert_eq!(metrics.get(DIALS), 0, "{metrics}");
    let newcomer = Talk::begin(newcomer, 1);
    newcomer.is_greeted();
    newcomer.ends();
}

/// One worker whose peers have the time that a test needs.
fn config() -> String {
    let config = with(&enrolled(PORT), "timeout: 5s", "timeout: 1m");
    plus(&config, "workers: 1")
}

/// A dataplane with one connection and a few free descriptors: lowered while it runs, for what it
/// starts with it takes into account.
#[track_caller]
fn exhausted(label: &str) -> (Stand, App, Talk) {
    let stand = Stand::new(label, &config());
    let app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let old = Talk::open(&stand, 0);
    // The self-test borrows descriptors.
    stand.metrics_when("it is ready", |metrics| metrics.get("ready") == 1);
    let open = settled(&stand);
    // The limit is on numbers, and some that are inherited may be high ones.
    let free = (0..).filter(|number| !open.contains(number)).nth(FREE - 1);
    let limit = free.expect("there is no end to numbers") + 1;
    // As the same user: root may not without SYS_RESOURCE (check_prlimit_permission, kernel/sys.c).
    let status = Command::new("setpriv")
        .args(["--reuid=65532", "--regid=65532", "--clear-groups"])
        .args(["prlimit", "--pid", &stand.pid().to_string()])
        .arg(format!("--nofile={limit}:{limit}"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "no prlimit");
    (stand, app, old)
}

/// Silent peers that take so many descriptors.
#[track_caller]
fn fill(stand: &Stand, count: usize) -> Vec<TcpStream> {
    let before = settled(stand).len();
    let silent = stand.dial_many(count);
    wait::until("silent peers take the descriptors", PATIENCE, || {
        (descriptors(stand).len() == before + count).then_some(())
    });
    silent
}

/// The silent ones go, and everything is as it was.
#[track_caller]
fn recovered(stand: &Stand, silent: Vec<TcpStream>) -> Metrics {
    // A newcomer may have taken one of theirs.
    let left = descriptors(stand).len() + 1 - silent.len();
    drop(silent);
    wait::until("their descriptors are free", PATIENCE, || {
        (descriptors(stand).len() <= left).then_some(())
    });
    Talk::open(stand, 2).ends();
    stand.metrics_when("it is ready again", |metrics| metrics.get("ready") == 1)
}

/// What is open when the admin port and the self-test hold nothing: the least of many looks.
#[track_caller]
fn settled(stand: &Stand) -> BTreeSet<u32> {
    let (mut least, mut looks) = (descriptors(stand), 0);
    wait::until("its descriptors settle", PATIENCE, || {
        let now = descriptors(stand);
        if now.len() < least.len() {
            least = now;
        }
        looks += 1;
        (looks == LOOKS).then(|| least.clone())
    })
}

#[track_caller]
fn descriptors(stand: &Stand) -> BTreeSet<u32> {
    let folder = fs::read_dir(format!("/proc/{}/fd", stand.pid())).expect("it runs");
    let names = folder.map(|entry| entry.expect("a name").file_name());
    let number = |name: OsString| name.to_str().and_then(|name| name.parse().ok());
    names
        .map(|name| number(name).expect("descriptors are numbers"))
        .collect()
}
