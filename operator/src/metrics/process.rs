//! Series of the process itself. The prometheus crate has them too, with four more crates.

use std::fs;
use std::time::SystemTime;

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

pub(super) fn families(started: SystemTime) -> Vec<MetricFamily> {
    let started = started.duration_since(SystemTime::UNIX_EPOCH);
    vec![
        build_info(),
        gauge(
            "process_start_time_seconds",
            "Start of the process, seconds of the Unix epoch.",
            started.map_or(0.0, |since| since.as_secs_f64()),
        ),
        gauge(
            "process_open_fds",
            "Descriptors that the process has open.",
            open_descriptors(),
        ),
        gauge(
            "process_resident_memory_bytes",
            "Resident memory of the process.",
            resident_bytes(),
        ),
        processor_time(),
    ]
}

fn build_info() -> MetricFamily {
    let mut version = LabelPair::default();
    version.set_name("version".to_owned());
    version.set_value(env!("CARGO_PKG_VERSION").to_owned());
    let mut family = gauge(
        "proxyunwrap_operator_build_info",
        "Always 1; the label tells the version.",
        1.0,
    );
    for metric in family.mut_metric() {
        metric.set_label(vec![version.clone()]);
    }
    family
}

fn gauge(name: &str, help: &str, value: f64) -> MetricFamily {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(MetricType::GAUGE);
    family.set_metric(vec![Metric::from_gauge(gauge)]);
    family
}

fn processor_time() -> MetricFamily {
    let mut counter = Counter::default();
    counter.set_value(processor_seconds());
    let mut metric = Metric::default();
    metric.set_counter(counter);
    let mut family = MetricFamily::default();
    family.set_name("process_cpu_seconds_total".to_owned());
    family.set_help("Processor time of the process, its own and the kernel's.".to_owned());
    family.set_field_type(MetricType::COUNTER);
    family.set_metric(vec![metric]);
    family
}

/// From /proc/self/stat: fields 14 and 15, in hundredths of a second on every Linux (USER_HZ). The
/// name before them is in brackets, and may hold anything.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn open_descriptors() -> f64 {
    let count = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// From /proc/self/status, which gives kibibytes.
fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = number.and_then(|kib| kib.parse().ok()).unwrap_or(0.0);
    kib * 1024.0
}
