//! Processor time: of the whole machine, because much of a relay's work is the kernel's; of the processes
//! that are named; and of everybody who has nothing to do with the run, because they disturb it.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// /proc counts in hundredths of a second on every Linux that we run on (USER_HZ).
const TICK: f64 = 0.01;

/// What the processors had done at a moment, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    busy: u64,
    watched: u64,
    others: u64,
}

/// What they did between two moments, in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Spent {
    /// All processors together, whatever for, without niced programs: nothing of ours is niced.
    pub(crate) busy: f64,
    /// The watched processes, in user space and in the kernel.
    pub(crate) watched: f64,
    /// Programs that are not of the run, and their children that ended meanwhile.
    pub(crate) others: f64,
}

impl Cpu {
    /// Reads /proc. `watch` and `own` are of the run; a process that has ended counts nothing.
    pub(crate) fn read(watch: &[i32], own: &[i32]) -> io::Result<Self> {
        let mut now = Self {
            busy: parse_machine(&fs::read_to_string("/proc/stat")?),
            ..Self::default()
        };
        for pid in all()? {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let process = parse_process(&stat);
            if watch.contains(&pid) {
                now.watched += process.own;
            } else if !own.contains(&pid) && !process.is_kernel {
                now.others += process.own + process.children;
            }
        }
        Ok(now)
    }

    /// What was done since.
    pub(crate) fn since(self, before: &Self) -> Spent {
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 * TICK;
        Spent {
            busy: seconds(self.busy, before.busy),
            watched: seconds(self.watched, before.watched),
            others: seconds(self.others, before.others),
        }
    }
}

fn all() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.collect())
}

/// Ticks of a process and of its children that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Process {
    own: u64,
    children: u64,
    is_kernel: bool,
}

/// Busy ticks of `/proc/stat`, whose first line is `cpu user nice system idle iowait irq softirq steal …`.
fn parse_machine(stat: &str) -> u64 {
    let line = stat.lines().next().unwrap_or_default();
    let numbers = line.split_whitespace().skip(1);
    let ticks: Vec<u64> = numbers.map(|number| number.parse().unwrap_or(0)).collect();
    [0, 2, 5, 6]
        .into_iter()
        .filter_map(|at| ticks.get(at))
        .sum()
}

/// `/proc/PID/stat`: the second field is the program's name in brackets, which may hold anything. What
/// follows begins with the state and the parent, of which the kernel's own is 2; times are the fields 14
/// to 17.
fn parse_process(stat: &str) -> Process {
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let number = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0)
    };
    Process {
        own: number(11) + number(12),
        children: number(13) + number(14),
        is_kernel: fields.get(1) == Some(&"2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_neither_idle_nor_stolen_nor_niced() {
        let stat = "cpu  1000 20 300 9999 50 6 70 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse_machine(stat), 1_376);
    }

    #[test]
    fn a_process_may_be_called_anything() {
        let stat = "77 (a) b (c) S 1 77 77 0 -1 4194560 100 0 0 0 40 2 5 6 20 0 3 0 5 1 2\n";
        let process = parse_process(stat);
        assert_eq!(
            (process.own, process.children, process.is_kernel),
            (42, 11, false)
        );
        assert_eq!(parse_process(""), Process::default());
    }

    #[test]
    fn the_kernels_own_threads_work_for_us() {
        let stat = "9 (kworker/0:1) I 2 0 0 0 -1 1 0 0 0 0 1 2 0 0 20 0 1 0 1 0 0\n";
        assert!(parse_process(stat).is_kernel);
    }

    #[test]
    fn time_passes_in_hundredths() {
        let at = |busy, watched| Cpu {
            busy,
            watched,
            others: 0,
        };
        let spent = at(350, 120).since(&at(150, 100));
        assert_eq!((spent.busy, spent.watched), (2.0, 0.2));
    }

    #[test]
    fn we_are_ourselves_or_somebody_else() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (ours, theirs) = (
            Cpu::read(&[], &[pid]).unwrap(),
            Cpu::read(&[], &[]).unwrap(),
        );
        assert!(
            ours.others <= theirs.others && ours.busy > 0,
            "{ours:?} {theirs:?}"
        );
    }
}
