//! What a program and its children hold: memory, descriptors, pipes.

use std::collections::HashMap;
use std::fs;

/// What processes hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Resident memory.
    pub(crate) kibibytes: u64,
    pub(crate) descriptors: u64,
    /// Those of the descriptors that are ends of pipes.
    pub(crate) pipe_ends: u64,
}

/// A process and everything that descends from it.
pub(crate) fn pids(root: i32) -> Vec<i32> {
    let parents = parents();
    let is_ours = |pid: i32| {
        let mut at = pid;
        while at != root {
            match parents.get(&at) {
                Some(parent) if *parent > 1 => at = *parent,
                Some(_) | None => return false,
            }
        }
        true
    };
    let mut pids: Vec<_> = parents
        .keys()
        .copied()
        .filter(|pid| is_ours(*pid))
        .collect();
    pids.sort_unstable();
    pids
}

/// What they hold now. A process that has just ended holds nothing.
pub(crate) fn held(pids: &[i32]) -> Held {
    let mut all = Held::default();
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        all.kibibytes += field(&status, "VmRSS");
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        for entry in entries.flatten() {
            all.descriptors += 1;
            let target = fs::read_link(entry.path()).unwrap_or_default();
            all.pipe_ends += u64::from(target.to_string_lossy().starts_with("pipe:"));
        }
    }
    all
}

/// Whether every thread of a process has a tracer.
pub(crate) fn is_traced(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut statuses = threads.map(|thread| fs::read_to_string(thread.path().join("status")));
    statuses.all(|status| field(&status.unwrap_or_default(), "TracerPid") > 0)
}

fn parents() -> HashMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some((pid, i32::try_from(field(&status, "PPid")).ok()?))
    })
    .collect()
}

/// A number of `/proc/PID/status`.
fn field(status: &str, name: &str) -> u64 {
    let values = status
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let mut numbers = values.filter_map(|value| value.split_whitespace().next()?.parse().ok());
    numbers.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_whole_name() {
        let status = "Name:\tnginx\nPPid:\t77\nVmRSSX:\t9 kB\nVmRSS:\t  1234 kB\n";
        assert_eq!(
            (
                field(status, "VmRSS"),
                field(status, "PPid"),
                field(status, "Vm")
            ),
            (1234, 77, 0)
        );
    }

    #[test]
    fn we_are_in_our_own_family_and_hold_something() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let family = pids(pid);
        assert!(family.contains(&pid) && !family.contains(&1), "{family:?}");
        let held = held(&[pid]);
        assert!(held.kibibytes > 0 && held.descriptors > 2, "{held:?}");
    }
}
