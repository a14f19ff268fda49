//! kubelet, as the pod sees it: somebody with an address of the node's.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use serde_json::{Value, json};

use crate::support::http::{self, Answer};
use crate::support::lab::{POD4, POD6};
use crate::support::pod::{ADMIN, LISTEN, enrolled};
use crate::support::stand::{PORT, Stand};

/// A pod whose dataplane answers these probes, each with its key.
#[track_caller]
pub fn stand(label: &str, probes: &Value) -> Stand {
    let config = enrolled(PORT);
    let mut stand = Stand::prepared(label, &config);
    let path = stand.configure(&config);
    let path = path.to_str().expect("a temporary folder has a plain name");
    let probes = probes.to_string();
    let any = |port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let words = ["serve", "--config", path, "--probes", &probes];
    stand.launch(&[], &words, &[any(LISTEN), any(ADMIN)]);
    stand
}

/// An `http` probe of the app on this port.
pub fn get(port: u16, path: &str) -> Value {
    json!({"app": port, "timeout": "10s", "http": {"scheme": "http", "path": path}})
}

/// What the node is told about a probe.
#[track_caller]
pub fn ask(stand: &Stand, probe: &str) -> Answer {
    ask_at(stand, POD4, probe).unwrap_or_else(|error| panic!("{probe}: {error}"))
}

#[track_caller]
pub fn ask6(stand: &Stand, probe: &str) -> Answer {
    ask_at(stand, POD6, probe).unwrap_or_else(|error| panic!("{probe}: {error}"))
}

/// The same; an error when there is no answer at all.
pub fn ask_at(stand: &Stand, pod: IpAddr, probe: &str) -> io::Result<Answer> {
    let path = format!("/app-probe/{probe}");
    http::ask(&stand.lab.balancer, (pod, ADMIN).into(), "GET", &path)
}

/// `app_probes_total` of this kind and result.
#[track_caller]
pub fn counted(stand: &Stand, kind: &str, result: &str) -> u64 {
    let series = format!("app_probes_total{{kind=\"{kind}\",result=\"{result}\"}}");
    stand.metrics().get(&series)
}

/// The app is not well: 503, a sentence, and a count.
#[track_caller]
pub fn is_refused(stand: &Stand, probe: &str, result: &str, says: &str) {
    let (_, kind) = probe.split_once('/').expect("a key has two parts");
    let before = counted(stand, kind, result);
    let answer = ask(stand, probe);
    assert_eq!(answer.status, 503, "{probe}: {}", answer.body);
    let named = answer.body.starts_with(&format!("probe {probe}: "));
    assert!(named, "{probe} is not named: {}", answer.body);
    assert!(answer.body.contains(says), "{probe}: {}", answer.body);
    assert_eq!(counted(stand, kind, result), before + 1, "{probe}");
}
