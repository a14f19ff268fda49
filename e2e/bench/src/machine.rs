//! What the report says of the machine and of the checkout.

use std::fs;
use std::process::Command;
use std::time::SystemTime;

use crate::results::Machine;
use crate::rig::namespace::output;

/// The machine that this runs on. What cannot be found out is "unknown".
pub(crate) fn describe(processors: usize) -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    Machine {
        processor: value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
        processors,
        memory_gib: memory_gib(&read("/proc/meminfo")),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        congestion: unknown(),
        date: date(SystemTime::now()),
    }
}

/// The checkout's commit; a "-dirty" says that files differ from it.
pub(crate) fn commit() -> String {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--exclude=*"]);
    output(&mut git).map_or_else(|_| unknown(), |commit| commit.trim().to_owned())
}

/// The first `name : value` of a file of /proc.
fn value(text: &str, name: &str) -> Option<String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut named = pairs.filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim().to_owned())
}

fn memory_gib(meminfo: &str) -> f64 {
    let total = value(meminfo, "MemTotal").unwrap_or_default();
    let kib: f64 = total.trim_end_matches(" kB").parse().unwrap_or(0.0);
    kib / 1024.0 / 1024.0
}

/// `2026-11-21`, in UTC.
fn date(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day since 1970-01-01: the Gregorian calendar repeats every 146,097 days, and a year
/// that begins in March has its leap day last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }

    #[test]
    fn a_processor_has_a_name_and_memory_a_size() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n";
        assert_eq!(
            value(cpuinfo, "model name").as_deref(),
            Some("Some CPU @ 2.0GHz")
        );
        assert_eq!(memory_gib("MemTotal:       4194304 kB\n"), 4.0);
    }
}
