//! Network namespaces of our own, so that tests touch nothing of the machine.

use std::fs::File;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, thread};

use nix::sched::{CloneFlags, setns};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A named network namespace with `lo` up. It goes when this value goes, unless
/// `PROXYUNWRAP_KEEP=1` asks to keep it for a look.
pub struct Namespace {
    name: String,
}

impl Namespace {
    pub fn new(label: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pu-{label}-{}-{number}", process::id());
        let output = Command::new("ip").args(["netns", "add", &name]).output();
        let output = output.expect("these tests need iproute2: make packages");
        assert!(
            output.status.success(),
            "these tests need root to make network namespaces: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let namespace = Self { name };
        namespace.sh("ip link set lo up");
        namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command that runs inside.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Runs shell lines inside and returns what they print; a failing line fails the test.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let output = self
            .command("sh")
            .args(["-ec", script])
            .stdin(Stdio::null())
            .output()
            .expect("sh starts");
        assert!(
            output.status.success(),
            "in {}: {script}\n{}{}",
            self.name,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("commands print UTF-8")
    }

    /// Runs `work` on a thread that lives inside: its sockets belong to this namespace for ever.
    #[track_caller]
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                let file = File::open(format!("/run/netns/{}", self.name)).expect("it exists");
                setns(file, CloneFlags::CLONE_NEWNET).expect("root may enter its own namespace");
                work()
            });
            match inside.join() {
                Ok(value) => value,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Joins two namespaces by a cable: `left_end` here, `right_end` there, both up.
    pub fn cable(&self, left_end: &str, right: &Self, right_end: &str) {
        self.sh(&format!(
            "ip link add {left_end} type veth peer name {right_end} netns {}
             ip link set {left_end} up",
            right.name
        ));
        right.sh(&format!("ip link set {right_end} up"));
    }

    /// Gives an interface an address that is usable at once (no duplicate address detection).
    pub fn address(&self, interface: &str, address: &str) {
        let nodad = if address.contains(':') { "nodad" } else { "" };
        self.sh(&format!("ip addr add {address} dev {interface} {nodad}"));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "to look at it: ip netns exec {} sh (kept with PROXYUNWRAP_KEEP=1)",
                self.name
            );
        }
        if env::var_os("PROXYUNWRAP_KEEP").is_none() {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name])
                .output();
        }
    }
}
