//! Processor time: of the whole machine, because much of a relay's work is the kernel's, and of the
//! processes that are named.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// /proc counts in hundredths of a second on every Linux that we run on (USER_HZ).
const TICK: f64 = 0.01;

/// What the processors had done at a moment, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    busy: u64,
    niced: u64,
    watched: u64,
}

/// What they did between two moments, in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Spent {
    /// All processors together, whatever for, without niced programs: nothing of ours is niced.
    pub(crate) busy: f64,
    /// Niced programs: somebody else's work, which disturbs the measurement.
    pub(crate) niced: f64,
    /// The watched processes, in user space and in the kernel.
    pub(crate) watched: f64,
}

impl Cpu {
    /// Reads /proc. A watched process that has ended counts nothing.
    pub(crate) fn read(watch: &[i32]) -> io::Result<Self> {
        let (busy, niced) = parse_machine(&fs::read_to_string("/proc/stat")?);
        let of = |pid| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Ok(Self {
            busy,
            niced,
            watched: watch.iter().map(|pid| parse_process(&of(pid))).sum(),
        })
    }

    /// What was done since.
    pub(crate) fn since(self, before: &Self) -> Spent {
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 * TICK;
        Spent {
            busy: seconds(self.busy, before.busy),
            niced: seconds(self.niced, before.niced),
            watched: seconds(self.watched, before.watched),
        }
    }
}

/// Busy and niced ticks of `/proc/stat`: its first line is
/// `cpu user nice system idle iowait irq softirq steal …`.
fn parse_machine(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().unwrap_or_default();
    let numbers = line.split_whitespace().skip(1);
    let ticks: Vec<u64> = numbers.map(|number| number.parse().unwrap_or(0)).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    (at(0) + at(2) + at(5) + at(6), at(1))
}

/// Ticks of `/proc/PID/stat`: fields 14 and 15. The second is the program's name in brackets, which
/// may hold anything.
fn parse_process(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let times = after_name.split_whitespace().skip(11).take(2);
    times.map(|time| time.parse().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_neither_idle_nor_stolen_nor_niced() {
        let stat = "cpu  1000 20 300 9999 50 6 70 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse_machine(stat), (1_376, 20));
    }

    #[test]
    fn a_process_may_be_called_anything() {
        let stat = "77 (a) b (c) S 1 77 77 0 -1 4194560 100 0 0 0 40 2 0 0 20 0 3 0 5 1 2\n";
        assert_eq!(parse_process(stat), 42);
        assert_eq!(parse_process(""), 0);
    }

    #[test]
    fn time_passes_in_hundredths() {
        let at = |busy, watched| Cpu {
            busy,
            niced: 0,
            watched,
        };
        let spent = at(350, 120).since(&at(150, 100));
        assert_eq!((spent.busy, spent.watched), (2.0, 0.2));
    }
}
