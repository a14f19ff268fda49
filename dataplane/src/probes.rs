//! kubelet's probes and hooks, answered on the admin port in place of the app.
//!
//! kubelet sends no header and cannot reach loopback. So the operator makes its probes of an unwrapped
//! port aim at `/app-probe/CONTAINER/KIND`, and hands us the originals: [`spec`] reads them,
//! [`check`] does over loopback what kubelet would have done.
//!
//! Anybody may ask: kubelet's address is not known. So what an asker says never reaches the app, and
//! who asks while a check runs gets that check's verdict: strangers cannot aim it, nor multiply it.

mod check;
mod connect;
mod grpc;
mod http;
pub mod spec;
mod tls;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use tokio::sync::watch;

use spec::{Key, Kind, Probe};

/// How a check ended. A closed set: the `result` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The app is well.
    Success,
    /// The app answered something else.
    Failure,
    /// Nobody took the connection.
    Unreachable,
    /// Not within the probe's time-out.
    Timeout,
}

impl ProbeResult {
    /// Every result, in the order of the counters.
    pub const ALL: [Self; 4] = [
        Self::Success,
        Self::Failure,
        Self::Unreachable,
        Self::Timeout,
    ];

    /// Value of the `result` label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
        }
    }
}

/// What a check found, and what kubelet is told.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// For the metric.
    pub result: ProbeResult,
    /// The app's own status, or 503.
    pub status: StatusCode,
    /// The app's own body, or a sentence.
    pub body: String,
    /// Whether the app answered at all.
    answered: bool,
}

impl Verdict {
    /// Whether kubelet must get no answer: it takes any answer to a hook for done, and the app never
    /// had this one.
    pub fn is_lost_hook(&self, kind: Kind) -> bool {
        kind.is_hook() && !self.answered
    }
}

/// What of the question matters to the app: it decides Host and User-Agent, as kubelet would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The pod's address that was asked.
    pub ip: IpAddr,
    /// kubelet's name and version.
    pub agent: String,
}

impl Asked {
    /// Only what names a kubelet is believed of the User-Agent. Loopback's addresses are one.
    pub fn new(ip: IpAddr, agent: Option<&str>) -> Self {
        let ip = match ip.to_canonical() {
            IpAddr::V4(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_loopback() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let agent = agent.filter(|agent| is_kubelet(agent));
        let agent = agent.unwrap_or("kube-probe").to_owned();
        Self { ip, agent }
    }
}

/// `kube-probe/1.36` or `kube-lifecycle/1.36+`
fn is_kubelet(agent: &str) -> bool {
    let version = ["kube-probe/", "kube-lifecycle/"]
        .iter()
        .find_map(|name| agent.strip_prefix(name));
    let parts = version.and_then(|version| version.split_once('.'));
    parts.is_some_and(|(major, minor)| {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| matches!(text.len(), 1..=4) && digits(text);
        number(major) && number(minor.strip_suffix('+').unwrap_or(minor))
    })
}

/// Checks by kind and result.
pub type Counts = [[u64; ProbeResult::ALL.len()]; Kind::ALL.len()];

/// The probes of this pod.
#[derive(Debug, Default)]
pub struct Probes {
    all: BTreeMap<Key, Entry>,
    counts: [[AtomicU64; ProbeResult::ALL.len()]; Kind::ALL.len()],
}

#[derive(Debug)]
struct Entry {
    probe: Probe,
    /// Checks that run, by the address that was asked: Host differs.
    running: Mutex<BTreeMap<IpAddr, Running>>,
    /// Whether the app was well the last time.
    well: Mutex<Option<bool>>,
}

type Running = watch::Receiver<Option<Arc<Verdict>>>;

impl Probes {
    /// Takes what [`spec::parse`] read.
    pub fn new(probes: BTreeMap<Key, Probe>) -> Self {
        let entries = probes.into_iter().map(|(key, probe)| {
            let entry = Entry {
                probe,
                running: Mutex::default(),
                well: Mutex::default(),
            };
            (key, entry)
        });
        Self {
            all: entries.collect(),
            ..Self::default()
        }
    }

    /// The verdict of a check for `key`, one that runs already or a new one; None for a probe that is
    /// not known. A check goes on when its askers go: the next one gets its verdict.
    pub async fn ask(self: &Arc<Self>, key: &Key, asked: Asked) -> Option<Arc<Verdict>> {
        let mut running = self.join(key, asked)?;
        let verdict = running.wait_for(Option::is_some).await;
        verdict.ok().and_then(|verdict| verdict.clone())
    }

    fn join(self: &Arc<Self>, key: &Key, asked: Asked) -> Option<Running> {
        let entry = self.all.get(key)?;
        let mut running = lock(&entry.running);
        if let Some(running) = running.get(&asked.ip) {
            return Some(running.clone());
        }
        let (tell, told) = watch::channel(None);
        running.insert(asked.ip, told.clone());
        let (probes, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            if let Some(entry) = probes.all.get(&key) {
                let verdict = check::run(&key, &entry.probe, &asked).await;
                lock(&entry.running).remove(&asked.ip);
                probes.record(&key, entry, &verdict);
                tell.send_replace(Some(Arc::new(verdict)));
            }
        });
        Some(told)
    }

    /// Counts every check, and says so when an app that was well is not, or the other way round:
    /// kubelet's event has but the status.
    fn record(&self, key: &Key, entry: &Entry, verdict: &Verdict) {
        self.counts[key.kind as usize][verdict.result as usize].fetch_add(1, Ordering::Relaxed);
        let well = verdict.result == ProbeResult::Success;
        let before = lock(&entry.well).replace(well);
        match (before, well) {
            (Some(false), true) => tracing::info!(probe = %key, "the app's probe succeeds"),
            (Some(true) | None, false) => {
                let says = match verdict.answered {
                    true => format!("status {}", verdict.status.as_u16()),
                    false => verdict.body.trim_end().to_owned(),
                };
                tracing::warn!(probe = %key, says, "the app's probe fails");
            }
            (Some(true) | None, true) | (Some(false), false) => {}
        }
    }

    /// The known probes, for who asked for another.
    pub fn known(&self) -> String {
        if self.all.is_empty() {
            return "none; --probes or PROXYUNWRAP_PROBES names them".to_owned();
        }
        let keys: Vec<_> = self.all.keys().map(Key::to_string).collect();
        keys.join(" ")
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Checks so far.
    pub fn counts(&self) -> Counts {
        let row = |row: &[AtomicU64; ProbeResult::ALL.len()]| {
            std::array::from_fn(|result| row[result].load(Ordering::Relaxed))
        };
        std::array::from_fn(|kind| row(&self.counts[kind]))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
