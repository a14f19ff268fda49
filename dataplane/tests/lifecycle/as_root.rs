//! The dataplane started by root, with everything that root has here.

use std::fs;
use std::net::SocketAddr;

use crate::support::lab::Lab;
use crate::support::process::Process;

/// The five sets of capabilities in `/proc/PID/status`.
pub const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// Starts it with these words, and waits until it listens on this address.
#[track_caller]
pub fn start(lab: &Lab, words: &[&str], address: SocketAddr) -> Process {
    let pod = &lab.pod.namespace;
    let mut command = pod.command(env!("CARGO_BIN_EXE_proxyunwrap-dataplane"));
    let mut process = Process::start("serve", command.args(words));
    process.listens(pod, address);
    process
}

/// A field of `/proc/PID/status` in every thread: capabilities are a thread's. The same value in all
/// of them, or the test fails.
#[track_caller]
pub fn status(pid: u32, field: &str) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let read = |task: fs::DirEntry| fs::read_to_string(task.path().join("status"));
    let statuses: Vec<_> = tasks.flatten().flat_map(read).collect();
    let value = |status: &String| {
        let mut lines = status.lines();
        lines.find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(":\t")?.to_owned()))
    };
    let mut values: Vec<_> = statuses.iter().filter_map(value).collect();
    assert!(
        values.len() >= 3,
        "main, access-log and workers: {values:?}"
    );
    values.dedup();
    assert_eq!(
        values.len(),
        1,
        "{field} is not the same in all threads: {values:?}"
    );
    values.remove(0)
}
