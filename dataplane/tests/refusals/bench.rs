//! A pod, an app that tells what it got, and tables of input that must not reach it.

use std::io::Write;
use std::net::IpAddr;

use crate::support::app::{self, App};
use crate::support::lab::{POD4, POD6};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire;

/// What follows a header in the same segment; no byte of it may arrive after a bad one.
pub const PAYLOAD: &[u8] = b"this is the payload";

/// Peers by rule. Addresses of no list are 10.9.4.0/24.
const PEERS: &str = r#"require: [10.9.0.0/24, "fd00:9::/64"], optional: [10.9.1.0/24], forbid: [10.9.2.0/24], pass: [10.9.3.0/24]"#;

/// One connection's beginning, and the reason under which it is counted.
pub struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub reason: &'static str,
}

pub struct Bench {
    pub stand: Stand,
    pub app: App,
}

impl Bench {
    /// `header` is the port's `header` section.
    #[track_caller]
    pub fn new(label: &str, header: &str) -> Self {
        let config = enrolled(PORT);
        let peers = r#"require: [10.9.0.0/24, "fd00:9::/64"], optional: [], forbid: [], pass: []"#;
        let config = with(&config, peers, PEERS);
        let config = with(
            &config,
            "versions: [v1, v2], timeout: 5s, maxBytes: 4096",
            header,
        );
        let claims = "claims: {refuse: [198.51.100.0/24]}\n  header:";
        let stand = Stand::new(label, &with(&config, "header:", claims));
        for network in 1..=4 {
            let address = format!("10.9.{network}.1/32");
            stand.lab.balancer.address("back", &address);
        }
        let app = App::start(&stand.lab.pod.namespace, "[::]:8080", app::report);
        Self { stand, app }
    }

    /// Sends each case at once, then each byte by byte. Every one must be closed without an
    /// answer and counted under its reason, and the app must not notice.
    #[track_caller]
    pub fn refuses(&self, series: &str, cases: &[Case]) {
        let mut wrong = Vec::new();
        for case in cases {
            wrong.extend(self.refuses_whole(series, case).err());
        }
        wrong.extend(self.refuses_bytewise(series, cases).err());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(self.app.clients(), [], "the app sees nobody");
    }

    fn refuses_whole(&self, series: &str, case: &Case) -> Result<(), String> {
        let before = self.stand.metrics();
        let stream = self.stand.dial();
        let _ = (&stream).write_all(&[&case.bytes, PAYLOAD].concat());
        wire::ended(&stream).map_err(|error| format!("{}: {error}", case.name))?;
        let growth = self.stand.metrics().growth(&before);
        let counted = format!("{series}{{reason=\"{}\"}} 1", case.reason);
        match growth.len() == 2 && growth.contains(&counted) {
            true => Ok(()),
            false => Err(format!("{}: not {counted} but {growth:?}", case.name)),
        }
    }

    /// All cases side by side, a byte of each at a time; each byte is read before the next.
    fn refuses_bytewise(&self, series: &str, cases: &[Case]) -> Result<(), String> {
        let before = self.stand.metrics();
        let streams = self.stand.dial_many(cases.len());
        let longest = cases.iter().map(|case| case.bytes.len()).max();
        for at in 0..longest.unwrap_or(0) {
            for (mut stream, case) in streams.iter().zip(cases) {
                // It may have been refused at an earlier byte.
                let _ = stream.write_all(case.bytes.get(at..=at).unwrap_or_default());
            }
            self.stand.has_read_everything();
        }
        for (stream, case) in streams.iter().zip(cases) {
            wire::ended(stream).map_err(|error| format!("{} bytewise: {error}", case.name))?;
        }
        let after = self.stand.metrics();
        let growth: Vec<_> = after.growth(&before);
        let mut wanted: Vec<_> = cases.iter().map(|case| case.reason).collect();
        wanted.sort_unstable();
        let wanted = wanted.chunk_by(|one, other| one == other);
        let wanted: Vec<_> = wanted
            .map(|same| format!("{series}{{reason=\"{}\"}} {}", same[0], same.len()))
            .collect();
        let counted = growth.iter().filter(|line| line.starts_with(series));
        match counted.eq(&wanted) {
            true => Ok(()),
            false => Err(format!("bytewise: not {wanted:?} but {growth:?}")),
        }
    }

    /// What the app answers to these bytes from this peer, and the peer as the app may see it.
    #[track_caller]
    pub fn ask(&self, from: IpAddr, bytes: &[u8]) -> (String, String) {
        let stream = self.stand.dial_from(from);
        let peer = stream.local_addr().expect("it is connected").to_string();
        (wire::exchange(&stream, bytes), peer)
    }

    /// The peer ends after these bytes, which are no whole header; returns what was counted.
    #[track_caller]
    pub fn is_truncated(&self, from: IpAddr, bytes: &[u8]) -> Vec<String> {
        let before = self.stand.metrics();
        let stream = self.stand.dial_from(from);
        wire::send(&stream, bytes);
        wire::end(&stream);
        wire::ended(&stream).unwrap_or_else(|error| panic!("{from}: {error}"));
        self.stand.metrics().growth(&before)
    }

    /// These bytes from this peer are closed without an answer; returns what was counted.
    #[track_caller]
    pub fn is_refused(&self, from: IpAddr, bytes: &[u8]) -> Vec<String> {
        let (before, seen) = (self.stand.metrics(), self.app.clients().len());
        let stream = self.stand.dial_from(from);
        let _ = (&stream).write_all(bytes);
        wire::ended(&stream).unwrap_or_else(|error| panic!("{from}: {error}"));
        assert_eq!(self.app.clients().len(), seen, "the app sees nobody");
        self.stand.metrics().growth(&before)
    }
}

/// Whatever happened on a bench, its app never saw itself.
impl Drop for Bench {
    fn drop(&mut self) {
        let own =
            |ip: &IpAddr| ip.is_loopback() || ip.is_unspecified() || [POD4, POD6].contains(ip);
        let seen = self.app.clients();
        let own = seen.iter().find(|client| own(&client.ip()));
        if !std::thread::panicking() {
            assert_eq!(own, None, "a client that no header may name");
        }
    }
}
