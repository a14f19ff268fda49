//! A new configuration under load, and one that is no good.

use std::fs;
use std::io::{Read, Write};
use std::net::Ipv6Addr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::drain::refuses_newcomers;
use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, BALANCER6, POD4};
use crate::support::pod::{ADMIN, enrolled};
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::talk::Talk;
use crate::support::{wait, wire};

/// Reloads while connections come and go.
const RELOADS: u64 = 50;

/// A port without steering: peers dial 15002 itself.
const SECOND: &str = "- {name: other, listen: 15002, app: 8080, peers: {require: [10.9.0.0/24]}}\n";

/// What we promise; the operator's own promise rests on it.
const TAKEN_OVER: Duration = Duration::from_secs(1);

const APPLIED: &str = "config_loads_total{result=\"applied\"}";

fn stand(label: &str) -> (Stand, App) {
    let stand = Stand::new(label, &enrolled(PORT));
    let app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::echo);
    (stand, app)
}

/// Another configuration each time: the header time-out changes, and a second port comes and goes.
fn changed(number: u64) -> String {
    let timeout = format!("timeout: {}s", 6 + number);
    let config = with(&enrolled(PORT), "timeout: 5s", &timeout);
    let ports = format!("{}accessLog:", if number % 2 == 1 { SECOND } else { "" });
    with(&config, "accessLog:", &ports)
}

#[test]
fn fifty_reloads_under_load_lose_no_connection() {
    let (stand, _app) = stand("reloads");
    let established = Talk::open(&stand, 0);
    let over = AtomicBool::new(false);
    let made: usize = thread::scope(|scope| {
        let loads = [1, 100_000].map(|first| {
            let (stand, over) = (&stand, &over);
            scope.spawn(move || connect_until(over, stand, first))
        });
        let running = Sets(&over);
        for number in 1..=RELOADS {
            stand.configure(&changed(number));
            stand.signal(Signal::SIGHUP);
            // The first load is the start's. The file is looked at by itself, too.
            stand.metrics_when("the reload is over", |metrics| {
                metrics.get(APPLIED) > number
            });
            established.says("still here");
        }
        drop(running);
        let made = loads.map(|load| load.join().expect("no connection is lost"));
        made.into_iter().sum()
    });
    eprintln!("{made} connections during {RELOADS} reloads");
    established.ends();
    let all = made as u64 + 1;
    let metrics = stand.metrics_when("all have ended", |metrics| metrics.ended("ok") >= all);
    assert_eq!(metrics.ended("ok"), all);
    assert_eq!(metrics.sum("connections_total"), all);
    assert_eq!(metrics.get("config_loads_total{result=\"refused\"}"), 0);
}

/// Sets the flag at its end, a panic's too: nobody runs on for ever.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connections from `first` on, each held while the next one begins; answers how many.
#[track_caller]
fn connect_until(over: &AtomicBool, stand: &Stand, first: usize) -> usize {
    let mut held = Talk::open(stand, first);
    let mut made = 1;
    while !over.load(Ordering::Relaxed) {
        let next = Talk::open(stand, first + made);
        held.ends();
        held = next;
        made += 1;
    }
    held.ends();
    made
}

/// The folder of a ConfigMap: the file is a link through `..data`, which is swapped in one step.
#[test]
fn a_swapped_config_map_is_in_force_within_a_second_without_a_signal() {
    let mut stand = Stand::prepared("configmap", &enrolled(PORT));
    swap(stand.folder(), 1);
    symlink("..data/config.yaml", stand.file("link.yaml")).expect("it is new");
    let config = stand.file("link.yaml");
    let config = config.to_str().expect("a plain name");
    let listen = (Ipv6Addr::UNSPECIFIED, ADMIN).into();
    stand.launch(&[], &["serve", "--config", config], &[listen]);
    is_in_force(&stand, "7s");
    // Several: each meets another moment between two looks at the file.
    let took = (2..=6).map(|number| {
        swap(stand.folder(), number);
        let start = Instant::now();
        stand.metrics_when("the change was seen", |metrics| {
            metrics.get(APPLIED) == number
        });
        let took = start.elapsed();
        is_in_force(&stand, &format!("{}s", 6 + number));
        took
    });
    let worst = took.max().expect("several changes");
    eprintln!("a change is in force after {worst:?} at most");
    assert!(worst < TAKEN_OVER, "{worst:?}");
}

/// Writes the next version into a folder of its own and swaps the link, as the kubelet does.
#[track_caller]
fn swap(folder: &Path, number: u64) {
    let version = format!("..version-{number}");
    fs::create_dir(folder.join(&version)).expect("it is our own folder");
    let file = folder.join(&version).join("config.yaml");
    fs::write(file, changed(number)).expect("it is our own folder");
    let link = folder.join("..data_tmp");
    symlink(version, &link).expect("the last one was renamed");
    fs::rename(link, folder.join("..data")).expect("it is our own folder");
}

#[test]
fn a_changed_file_is_taken_over_without_a_signal() {
    let (stand, _app) = stand("changed");
    stand.configure(&changed(1));
    stand.metrics_when("the change was seen", |metrics| metrics.get(APPLIED) == 2);
    is_in_force(&stand, "7s");
}

/// `/config` shows the header time-out that is in force.
#[track_caller]
fn is_in_force(stand: &Stand, timeout: &str) {
    let config = stand.ask("GET", "/config").body;
    let wanted = format!("\"timeout\": \"{timeout}\"");
    assert!(config.contains(&wanted), "no {wanted} in {config}");
}

#[test]
fn a_port_comes_and_goes_while_its_connections_go_on() {
    let (stand, _app) = stand("ports");
    stand.configure(&changed(1));
    stand.metrics_when("the port came", |metrics| metrics.get(APPLIED) == 2);
    let to = (POD4, 15002).into();
    let stream = wire::dial(&stand.lab.balancer, BALANCER4, to);
    let talk = Talk::begin(stream, 7);
    talk.is_greeted();

    stand.configure(&enrolled(PORT));
    stand.metrics_when("the port went", |metrics| metrics.get(APPLIED) == 3);
    talk.says("still here");
    talk.ends();
    refuses_newcomers(&stand, 15002);
}

#[test]
fn a_changed_list_of_peers_counts_for_newcomers_alone() {
    let (stand, _app) = stand("trust");
    let established = Talk::open(&stand, 1);
    stand.configure(&with(&enrolled(PORT), "10.9.0.0/24", "10.99.0.0/24"));
    stand.metrics_when("the peer is refused", |metrics| {
        drop(stand.dial());
        metrics.ended("untrusted") > 0
    });
    established.says("still here");
    stand.configure(&enrolled(PORT));
    wait::until("the peer is believed again", PATIENCE, || {
        let mut stream = stand.dial();
        stream.write_all(&wire::v1(wire::client4(2))).ok()?;
        stream.read_exact(&mut [0]).ok()
    });
    established.ends();
}

/// As a balancer that has just come: its first connection is there before the news of it.
#[test]
fn a_stranger_waits_unread_for_a_configuration_that_lists_it() {
    let patient = with(&enrolled(PORT), "pass: []", "pass: [], untrustedWait: 10s");
    let unlisted = with(&patient, "10.9.0.0/24", "10.99.0.0/24");
    let stand = Stand::new("stranger", &unlisted);
    let _app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::echo);
    let begin = |number| Talk::begin(stand.dial(), number);
    let early: Vec<_> = (1..=3).map(begin).collect();
    stand.configure(&patient);
    for talk in early {
        talk.is_greeted();
        talk.ends();
    }
    assert_eq!(stand.metrics().ended("untrusted"), 0);
}

#[test]
fn a_stranger_that_stays_one_is_refused_when_its_time_is_over() {
    let wait = "pass: [], untrustedWait: 500ms";
    let config = with(&enrolled(PORT), "pass: []", wait);
    let unlisted = with(&config, "10.9.0.0/24", "10.99.0.0/24");
    let stand = Stand::new("strangers", &unlisted);
    let start = Instant::now();
    let mut stream = stand.dial();
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "it was answered");
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(500), "{waited:?}");
    stand.metrics_when("it is counted", |metrics| metrics.ended("untrusted") == 1);
}

/// The operator writes it where a reference to balancers finds nobody.
#[test]
fn a_list_that_names_nobody_is_taken_over_and_refuses_everybody() {
    let (stand, _app) = stand("nobody");
    let established = Talk::open(&stand, 1);
    let peers = "[10.9.0.0/24, \"fd00:9::/64\"]";
    stand.configure(&with(&enrolled(PORT), peers, "[0.0.0.0/32]"));
    stand.metrics_when("the change was seen", |metrics| metrics.get(APPLIED) == 2);
    for peer in [BALANCER4, BALANCER6] {
        let before = stand.metrics().ended("untrusted");
        drop(stand.dial_from(peer));
        stand.metrics_when("the peer is refused", |metrics| {
            metrics.ended("untrusted") == before + 1
        });
    }
    established.ends();
}
