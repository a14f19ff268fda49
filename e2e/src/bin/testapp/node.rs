//! Eyes and hands on a node: what a person does with ps, cat, kill and nsenter. It asks for a
//! privileged pod with hostPID, and works alike on every cluster.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[derive(clap::Subcommand)]
pub(crate) enum Node {
    /// Prints the process id of a container's first process
    Pid {
        /// The container's id, without the runtime's name before it
        container: String,
    },
    /// Prints files
    Show {
        /// Their paths
        files: Vec<PathBuf>,
    },
    /// Kills a process at once
    Kill {
        /// Its process id
        pid: i32,
    },
    /// Runs a command in the network of a process
    In {
        /// A process of that network
        pid: i32,
        /// The command and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

pub(crate) fn run(command: &Node) -> anyhow::Result<()> {
    match command {
        Node::Pid { container } => super::print(&first_process(container)?),
        Node::Show { files } => show(files),
        Node::Kill { pid } => Ok(kill(Pid::from_raw(*pid), Signal::SIGKILL)?),
        Node::In { pid, command } => run_in(*pid, command),
    }
}

/// A container's processes carry its id in their cgroup's path; the first one is 1 in its own
/// namespace, which is the last number of `NSpid`.
fn first_process(container: &str) -> anyhow::Result<i32> {
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Ok(pid) = name.parse() else {
            continue;
        };
        // A process may end while we look at it.
        let read = |file| fs::read_to_string(path.join(file)).unwrap_or_default();
        if read("cgroup").contains(container) && is_first(&read("status")) {
            return Ok(pid);
        }
    }
    bail!("no process of container {container} on this node")
}

fn is_first(status: &str) -> bool {
    let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let own = pids.and_then(|pids| pids.split_whitespace().last());
    own == Some("1")
}

fn show(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        let text = fs::read(file).with_context(|| format!("could not read {}", file.display()))?;
        std::io::stdout().write_all(&text)?;
    }
    Ok(())
}

fn run_in(pid: i32, command: &[String]) -> anyhow::Result<()> {
    let path = format!("/proc/{pid}/ns/net");
    let network = File::open(&path).with_context(|| format!("could not open {path}"))?;
    setns(network, CloneFlags::CLONE_NEWNET).context("could not enter its network")?;
    let [program, arguments @ ..] = command else {
        bail!("no command given");
    };
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("could not run {program}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_is_one_in_its_innermost_namespace() {
        assert!(is_first("Name:\techo\nNSpid:\t4711\t12\t1\n"));
        assert!(!is_first("Name:\techo\nNSpid:\t4711\t1\t12\n"));
        assert!(!is_first("Name:\tkernel\n"));
    }
}
