//! A pod behind a balancer, with the real dataplane in it: what the system tests start from.
//!
//! `init` runs as root, `serve` as uid 65532 with every capability dropped. A failing test prints
//! the metrics, then what the dataplane wrote: its access log is in there.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::http::{self, Answer};
use super::lab::{BALANCER4, Lab, POD4, POD6};
use super::metrics::Metrics;
use super::namespace::Namespace;
use super::pod::{ADMIN, LISTEN};
use super::process::{Folder, Process};
use super::{queues, wait, wire};

/// The port that peers dial and that the app listens on.
pub const PORT: u16 = 8080;

/// Long enough for two slow cores that do something else, too.
pub const PATIENCE: Duration = Duration::from_secs(30);

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), ADMIN);

/// What the sidecar's security context takes away.
const UNPRIVILEGED: [&str; 7] = [
    "setpriv",
    "--reuid=65532",
    "--regid=65532",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--no-new-privs",
];

pub struct Stand {
    process: Option<Process>,
    folder: Folder,
    pub lab: Lab,
}

impl Stand {
    /// A prepared pod in which the dataplane serves `config`.
    #[track_caller]
    pub fn new(label: &str, config: &str) -> Self {
        let mut stand = Self::prepared(label, config);
        stand.start(config);
        stand
    }

    /// A pod that `init` has prepared for `config`; nothing serves yet.
    #[track_caller]
    pub fn prepared(label: &str, config: &str) -> Self {
        allow_many_descriptors();
        let lab = lab_with_small_tables(label);
        lab.pod.init(config);
        let folder = Folder::new();
        // By `install` and not by fs::copy: while this process holds a program open for writing, a
        // test on another thread may fork and keep it open: "text file busy".
        let install = Command::new("install")
            .args(["-m", "755", env!("CARGO_BIN_EXE_proxyunwrap-dataplane")])
            .arg(folder.path().join("dataplane"))
            .status();
        assert!(install.is_ok_and(|status| status.success()), "no copy");
        Self {
            process: None,
            folder,
            lab,
        }
    }

    /// Starts the dataplane, in place of one that may run, and waits until it listens.
    #[track_caller]
    pub fn start(&mut self, config: &str) {
        self.start_under(&[], config);
    }

    /// The same under a program that changes something for it, such as prlimit.
    #[track_caller]
    pub fn start_under(&mut self, wrapper: &[&str], config: &str) {
        let config = self.configure(config);
        let config = config
            .to_str()
            .expect("a temporary folder has a plain name");
        let any = |port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let words = ["serve", "--config", config];
        self.launch(wrapper, &words, &[any(LISTEN), any(ADMIN)]);
    }

    /// Starts the dataplane with these words, and waits until it listens on these addresses.
    #[track_caller]
    pub fn launch(&mut self, wrapper: &[&str], words: &[&str], addresses: &[SocketAddr]) {
        self.process = None;
        let mut process = Process::start("serve", self.command(wrapper).args(words));
        for address in addresses {
            process.listens(&self.lab.pod.namespace, *address);
        }
        self.process = Some(process);
    }

    /// Runs the dataplane to its end and returns what it said.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(&["timeout", "20"]);
        let output = command.args(arguments).stdin(Stdio::null()).output();
        output.expect("ip netns exec starts")
    }

    /// The dataplane in the pod as uid 65532, without a capability.
    pub fn command(&self, wrapper: &[&str]) -> Command {
        let words = [wrapper, &UNPRIVILEGED].concat();
        let mut command = self.lab.pod.namespace.command(words[0]);
        command.args(&words[1..]).arg(self.file("dataplane"));
        command
    }

    /// Writes the configuration in one step, as Kubernetes does: nobody reads half of it.
    pub fn configure(&self, config: &str) -> PathBuf {
        let new = self.folder.write("config.new", config);
        let path = self.file("config.yaml");
        fs::rename(new, &path).expect("it is our own folder");
        path
    }

    /// A file in the folder that the dataplane can read.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A connection of the balancer to the pod's port.
    #[track_caller]
    pub fn dial(&self) -> TcpStream {
        self.dial_from(BALANCER4)
    }

    /// The same from another address of the balancer, of either family.
    #[track_caller]
    pub fn dial_from(&self, from: IpAddr) -> TcpStream {
        let to = if from.is_ipv4() { POD4 } else { POD6 };
        wire::dial(&self.lab.balancer, from, (to, PORT).into())
    }

    /// `count` connections of the balancer.
    #[track_caller]
    pub fn dial_many(&self, count: usize) -> Vec<TcpStream> {
        let dial = || wire::connect(BALANCER4, (POD4, PORT).into());
        self.lab
            .balancer
            .enter(|| (0..count).map(|_| dial()).collect())
    }

    /// What the admin port answers a process of the pod.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str) -> Answer {
        let answer = http::ask(&self.lab.pod.namespace, LOOPBACK, method, path);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        Metrics::parse(&self.ask("GET", "/metrics").body)
    }

    /// Waits until the metrics are as `ready` wants them.
    #[track_caller]
    pub fn metrics_when(&self, what: &str, ready: impl Fn(&Metrics) -> bool) -> Metrics {
        wait::until(what, PATIENCE, || {
            Some(self.metrics()).filter(|metrics| ready(metrics))
        })
    }

    /// Waits until the dataplane has read everything that peers have sent.
    #[track_caller]
    pub fn has_read_everything(&self) {
        wait::until("the dataplane reads what peers sent", PATIENCE, || {
            let sent = queues::of(&self.lab.balancer, None).unsent == 0;
            let read = queues::of(&self.lab.pod.namespace, Some(LISTEN)).unread == 0;
            (sent && read).then_some(())
        });
    }

    pub fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("the test started serve")
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("serve was started").pid()
    }

    pub fn signal(&self, signal: Signal) {
        self.process
            .as_ref()
            .expect("serve was started")
            .signal(signal);
    }

    /// What the dataplane wrote so far.
    pub fn output(&self) -> String {
        self.process
            .as_ref()
            .map(Process::output)
            .unwrap_or_default()
    }

    /// The lines of the access log so far.
    pub fn access_log(&self) -> Vec<Value> {
        let output = self.output();
        let lines = output.lines().filter(|line| line.starts_with('{'));
        lines
            .map(|line| serde_json::from_str(line).expect("a line of the access log is JSON"))
            .collect()
    }

    /// A field of `/proc/PID/status`.
    #[track_caller]
    pub fn status(&self, field: &str) -> String {
        let path = format!("/proc/{}/status", self.pid());
        let status = fs::read_to_string(path).expect("the dataplane runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {field}: {status}"))
            .trim()
            .to_owned()
    }

    /// Resident memory of the dataplane in KiB.
    #[track_caller]
    pub fn resident_kib(&self) -> u64 {
        let text = self.status("VmRSS");
        let number = text.split(' ').next().and_then(|kib| kib.parse().ok());
        number.unwrap_or_else(|| panic!("VmRSS: {text}"))
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        if thread::panicking() && self.process.is_some() {
            match http::ask(&self.lab.pod.namespace, LOOPBACK, "GET", "/metrics") {
                Ok(answer) => eprintln!("--- metrics\n{}", Metrics::parse(&answer.body)),
                Err(error) => eprintln!("--- no metrics: {error}"),
            }
        }
    }
}

/// Namespaces with a hash table of their own (Linux 6.2): [`queues`] reads it from end to end, and
/// the machine's has a few hundred thousand buckets.
#[track_caller]
fn lab_with_small_tables(label: &str) -> Lab {
    let parent = Namespace::new(&format!("{label}-parent"));
    parent.sh("sysctl -qw net.ipv4.tcp_child_ehash_entries=16384 || true");
    parent.enter(|| Lab::new(label))
}

/// `config` with `new` in place of `old`, which must be there.
#[track_caller]
pub fn with(config: &str, old: &str, new: &str) -> String {
    assert!(config.contains(old), "no {old:?} in\n{config}");
    config.replace(old, new)
}

/// Peers and apps live in this process: thousands of connections.
fn allow_many_descriptors() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("the limit can be read");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("the soft limit may be raised");
}
