//! A pod: a namespace in which the real binary prepares the network and then serves,
//! as the init container and the sidecar do.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::namespace::Namespace;
use super::process::{Folder, Process};
use super::wait;

/// Where the dataplane listens; peers never name it.
pub const LISTEN: u16 = 15001;
/// Metrics and health.
pub const ADMIN: u16 = 15090;

/// What the sidecar's security context takes away: root, every capability, and the way back.
const UNPRIVILEGED: [&str; 6] = [
    "--reuid=65532",
    "--regid=65532",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--no-new-privs",
];

/// How long a line may take to reach the access log.
const LOGGED_WITHIN: Duration = Duration::from_secs(10);

pub struct Pod {
    dataplane: Option<Process>,
    pub namespace: Namespace,
    folder: Folder,
}

impl Pod {
    #[track_caller]
    pub fn new(label: &str) -> Self {
        Self {
            dataplane: None,
            namespace: Namespace::new(label),
            folder: Folder::new(),
        }
    }

    /// The whole life of a pod's start: `init` as root, then `serve` without any privilege.
    #[track_caller]
    pub fn run(&mut self, config: &str) {
        self.init(config);
        self.serve(config);
    }

    /// Prepares the namespace, as root; give the pod its addresses before.
    #[track_caller]
    pub fn init(&self, config: &str) {
        let file = self.folder.write("init.yaml", config);
        let mut init = self
            .namespace
            .command(env!("CARGO_BIN_EXE_proxyunwrap-dataplane"));
        let output = init
            .args(["init", "--config"])
            .arg(file)
            .stdin(Stdio::null())
            .output();
        let output = output.expect("ip netns exec starts");
        assert!(
            output.status.success(),
            "init ended with {}:\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Starts the dataplane as uid 65532 without capabilities, and waits until it listens.
    #[track_caller]
    pub fn serve(&mut self, config: &str) {
        let file = self.folder.write("serve.yaml", config);
        let mut serve = self.namespace.command("setpriv");
        serve
            .args(UNPRIVILEGED)
            .arg(self.readable_binary())
            .args(["serve", "--config"])
            .arg(file);
        let mut process = Process::start("serve", &mut serve);
        for port in [LISTEN, ADMIN] {
            process.listens(
                &self.namespace,
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            );
        }
        self.dataplane = Some(process);
    }

    /// The running dataplane; a pod that does not serve fails the test.
    #[track_caller]
    pub fn dataplane(&mut self) -> &mut Process {
        self.dataplane.as_mut().expect("the test started serve")
    }

    /// The text of `/metrics`, asked from inside the pod.
    #[track_caller]
    pub fn metrics(&self) -> String {
        self.namespace
            .sh(&format!("curl -sS --fail http://127.0.0.1:{ADMIN}/metrics"))
    }

    /// The lines of the access log so far.
    pub fn access_log(&self) -> Vec<Value> {
        let output = self
            .dataplane
            .as_ref()
            .map(Process::output)
            .unwrap_or_default();
        let lines = output
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line.get("outcome").is_some()).collect()
    }

    /// Waits for the access-log line of the client's connection: it is written at the close.
    #[track_caller]
    pub fn closed(&self, client: SocketAddr) -> Value {
        let client = client.to_string();
        let what = format!("the access log names client {client}");
        wait::until(&what, LOGGED_WITHIN, || {
            self.access_log()
                .into_iter()
                .find(|line| line["client"] == client.as_str())
        })
    }

    /// A copy that uid 65532 may execute: a checkout under /root is closed to it.
    #[track_caller]
    fn readable_binary(&self) -> PathBuf {
        let copy = self.folder.path().join("proxyunwrap-dataplane");
        // By `install` and not by fs::copy: while this process holds a program open for writing, a
        // test on another thread may fork and keep it open, and the kernel answers "text file busy".
        let status = Command::new("install")
            .args(["-m", "755", env!("CARGO_BIN_EXE_proxyunwrap-dataplane")])
            .arg(&copy)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the binary could not be copied"
        );
        copy
    }
}

/// A config with one enrolled port: peers dial it, and the app listens on the same number.
pub fn enrolled(port: u16) -> String {
    format!(
        r#"version: 1
ports:
- name: app
  port: {port}
  listen: {LISTEN}
  app: {port}
  peers: {{require: [10.9.0.0/24, "fd00:9::/64"], optional: [], forbid: [], pass: []}}
  header: {{versions: [v1, v2], timeout: 5s, maxBytes: 4096}}
accessLog: {{mode: all}}
admin: {{listen: {ADMIN}}}
"#
    )
}
