//! System calls of a short connection, counted by strace in a run that is not measured: it makes
//! every call slow.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::contender::Contender;
use crate::interrupt;
use crate::results::Calls;
use crate::rig::{family, wait};

/// Enough for the calls of timers and of a late close to vanish.
const SECONDS: &str = "2";

const PATIENCE: Duration = Duration::from_secs(10);

/// Counts for every proxy. One that cannot be traced is left out, and why is said.
pub(super) fn count(field: &mut [Contender]) -> anyhow::Result<BTreeMap<String, Calls>> {
    let mut all = BTreeMap::new();
    for contender in field
        .iter_mut()
        .filter(|contender| !contender.pids().is_empty())
    {
        interrupt::check()?;
        match traced(contender) {
            Ok(calls) => {
                eprintln!("syscalls {}: {:.1} each", contender.name, calls.each);
                all.insert(contender.name.clone(), calls);
            }
            Err(error) => eprintln!(
                "  system calls of {} not counted: {error:#}",
                contender.name
            ),
        }
    }
    Ok(all)
}

fn traced(contender: &mut Contender) -> anyhow::Result<Calls> {
    let summary = contender.file("strace.txt");
    let pids = contender.pids();
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&summary);
    for pid in &pids {
        strace.args(["-p", &pid.to_string()]);
    }
    let strace = strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut strace = strace
        .spawn()
        .context("strace does not start: make packages")?;
    let connections = attached(&pids).and_then(|()| {
        let words = [
            "connect",
            "--connections",
            "1",
            "--seconds",
            SECONDS,
            "--warm-up",
            "0",
        ];
        contender.offer(&words.map(str::to_owned))
    });
    let tracer = Pid::from_raw(i32::try_from(strace.id()).unwrap_or(0));
    let _ = kill(tracer, Signal::SIGINT);
    wait::until("strace ends", PATIENCE, || Ok(strace.try_wait()?))?;
    let found = connections?;
    ensure!(
        found.faults.is_empty(),
        "the load had faults: {:?}",
        found.faults
    );
    read(&summary, found.messages)
}

/// Waits until every thread has its tracer.
fn attached(pids: &[i32]) -> anyhow::Result<()> {
    wait::until("strace is attached", PATIENCE, || {
        let all = pids.iter().all(|pid| family::is_traced(*pid));
        Ok(all.then_some(()))
    })
}

fn read(summary: &Path, connections: u64) -> anyhow::Result<Calls> {
    let text = fs::read_to_string(summary).context("what strace wrote")?;
    ensure!(connections > 0, "no connection had its answer");
    Ok(parse(&text, connections))
}

/// strace's table: a number and a name in each line, the total last.
fn parse(summary: &str, connections: u64) -> Calls {
    let pairs = summary.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let count: u64 = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), count))
    });
    let each = |count: u64| count as f64 / connections as f64;
    let mut names: Vec<_> = pairs.filter(|(name, _)| name != "total").collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Calls {
        connections,
        each: each(names.iter().map(|(_, count)| count).sum()),
        names: names
            .into_iter()
            .map(|(name, count)| (name, each(count)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_shared_out_over_the_connections() {
        let summary = "    calls syscall\n--------- ----------------\n      100 close\n      300 read\n--------- ----------------\n      400 total\n";
        let calls = parse(summary, 50);
        assert_eq!(calls.each, 8.0);
        assert_eq!(
            calls.names,
            [("read".to_owned(), 6.0), ("close".to_owned(), 2.0)]
        );
    }
}
