//! Network namespaces of our own: nothing of the machine's network is touched.

use std::process::{self, Command, Stdio};

use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A named network namespace with `lo` up. What runs inside ends with it.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// # Errors
    /// Without root, or without iproute2.
    pub(crate) fn new(label: &str) -> anyhow::Result<Self> {
        let name = format!("pub-{}-{label}", process::id());
        let output = Command::new("ip").args(["netns", "add", &name]).output();
        let output = output.context("ip does not start: make packages")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "could not make a namespace, run as root: {said}"
        );
        let namespace = Self { name };
        namespace.sh("ip link set lo up")?;
        Ok(namespace)
    }

    /// A command that runs inside.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Runs shell lines inside and returns what they print.
    ///
    /// # Errors
    /// When a line fails.
    pub(crate) fn sh(&self, script: &str) -> anyhow::Result<String> {
        let mut command = self.command("sh");
        command.args(["-ec", script]).stdin(Stdio::null());
        output(&mut command).with_context(|| format!("in {}: {script}", self.name))
    }

    /// Joins two namespaces by a cable; each end is called eth0.
    ///
    /// # Errors
    /// When `ip` refuses.
    pub(crate) fn cable(&self, other: &Self) -> anyhow::Result<()> {
        let to = &other.name;
        self.sh(&format!(
            "ip link add eth0 type veth peer name eth0 netns {to}; ip link set eth0 up"
        ))?;
        other.sh("ip link set eth0 up")?;
        Ok(())
    }

    /// Programs start others, which are not our children: whatever is inside is of this run.
    fn end_programs(&self) {
        let pids = Command::new("ip")
            .args(["netns", "pids", &self.name])
            .output();
        let pids = pids.map(|output| output.stdout).unwrap_or_default();
        for pid in String::from_utf8_lossy(&pids)
            .lines()
            .filter_map(|pid| pid.parse().ok())
        {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.end_programs();
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .output();
    }
}

/// What a command prints on its standard output.
///
/// # Errors
/// When it does not start or fails; the error has what it wrote.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{program} does not start"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{program} ended with {}: {}",
        output.status,
        said.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
