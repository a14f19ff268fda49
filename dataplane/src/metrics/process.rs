//! Series of the process itself. The prometheus crate has them too, with four more crates.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use prometheus::proto::{MetricFamily, MetricType};

use super::Process;
use super::family::{counter, family, float_counter, float_gauge, gauge, labelled};

pub(super) fn families(process: &Process) -> Vec<MetricFamily> {
    let version = ("version", env!("CARGO_PKG_VERSION"));
    let build = labelled(
        &[version, ("source_mode", process.source_mode)],
        float_gauge(1.0),
    );
    let results = vec![
        counter(&[("result", "applied")], process.reloads),
        counter(&[("result", "refused")], process.reload_errors),
    ];
    vec![
        family(
            "build_info",
            "Always 1; the labels tell the version and how sources are bound.",
            MetricType::GAUGE,
            vec![build],
        ),
        family(
            "engine",
            "Always 1; the label tells which engine serves, epoll or io_uring.",
            MetricType::GAUGE,
            vec![labelled(&[("engine", process.engine)], float_gauge(1.0))],
        ),
        family(
            "ready",
            "1 while the self-test passes: a loopback connection from a foreign address.",
            MetricType::GAUGE,
            vec![gauge(u64::from(process.ready))],
        ),
        family(
            "config_loads_total",
            "Configurations read.",
            MetricType::COUNTER,
            results,
        ),
        family(
            "process_start_time_seconds",
            "Start of the process, seconds of the Unix epoch.",
            MetricType::GAUGE,
            vec![float_gauge(process.started)],
        ),
        family(
            "process_open_fds",
            "Descriptors that the process has open.",
            MetricType::GAUGE,
            vec![gauge(open_descriptors())],
        ),
        family(
            "process_resident_memory_bytes",
            "Resident memory of the process.",
            MetricType::GAUGE,
            vec![gauge(resident_bytes())],
        ),
        family(
            "process_cpu_seconds_total",
            "Processor time of the process, its own and the kernel's.",
            MetricType::COUNTER,
            vec![float_counter(processor_seconds())],
        ),
    ]
}

fn processor_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return 0.0;
    };
    let seconds = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    (seconds(usage.user_time()) + seconds(usage.system_time())).as_secs_f64()
}

fn open_descriptors() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

/// From /proc/self/status, which gives kibibytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
