//! Every series of `/metrics`, from the workers' counters.
//!
//! Labels are closed sets: nothing that a peer sends, and no address, ever becomes one.
//! `docs/metrics.md` lists the same series; a test compares the two.

mod family;
mod process;

use std::sync::Arc;

use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};

use crate::connection::Way;
use crate::connection::claim::Refusal;
use crate::connection::ladder::Step;
use crate::connection::outcome::{DialError, HeaderError, Outcome};
use crate::counters::{CONNECT_BUCKETS, Cell, Counters, Pause, VERSIONS};
use crate::probes::{self, ProbeResult, spec::Kind};
use family::{counter, family, gauge, seconds};

/// What `/metrics` shows beside the counters.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Checks of the app for kubelet.
    pub probes: probes::Counts,
    /// Whether the last self-test passed.
    pub ready: bool,
    /// Configurations taken over since start, the first included.
    pub reloads: u64,
    /// Configurations refused since start.
    pub reload_errors: u64,
    /// Seconds of the Unix epoch at start.
    pub started: f64,
    /// `routed` or `transparent`.
    pub source_mode: &'static str,
    /// `epoll` or `io_uring`.
    pub engine: &'static str,
}

/// The text of `/metrics`, Prometheus' format 0.0.4.
pub fn text(workers: &[Arc<Counters>], process: &Process) -> String {
    let mut families = connection_families(workers);
    families.push(app_probes(&process.probes));
    families.extend(process::families(process));
    let mut text = Vec::new();
    // Encoding fails only when writing does, or for a family without a metric; neither occurs.
    let _ = TextEncoder::new().encode(&families, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

fn connection_families(workers: &[Arc<Counters>]) -> Vec<MetricFamily> {
    let sum = |cell: &dyn Fn(&Counters) -> &Cell| -> u64 {
        workers.iter().map(|counters| cell(counters).get()).sum()
    };
    let rows =
        |label: &'static str, words: Vec<&'static str>, cells: &dyn Fn(&Counters, usize) -> u64| {
            let row = |(index, word)| {
                let value: u64 = workers.iter().map(|counters| cells(counters, index)).sum();
                counter(&[(label, word)], value)
            };
            words.into_iter().enumerate().map(row).collect::<Vec<_>>()
        };
    vec![
        family(
            "connections_total",
            "Ended connections by header version and outcome.",
            MetricType::COUNTER,
            connections(workers),
        ),
        family(
            "open_connections",
            "Connections open now.",
            MetricType::GAUGE,
            vec![gauge(sum(&|c| &c.open))],
        ),
        family(
            "pending_headers",
            "Open connections that have not sent their whole header yet.",
            MetricType::GAUGE,
            vec![gauge(sum(&|c| &c.pending))],
        ),
        family(
            "header_errors_total",
            "Connections closed for the way they began.",
            MetricType::COUNTER,
            rows(
                "reason",
                HeaderError::all().map(HeaderError::reason).collect(),
                &|c, i| c.header_errors[i].get(),
            ),
        ),
        family(
            "refused_clients_total",
            "Headers that named a client which is never dialled for.",
            MetricType::COUNTER,
            rows(
                "reason",
                Refusal::ALL.map(Refusal::reason).to_vec(),
                &|c, i| c.refused_clients[i].get(),
            ),
        ),
        family(
            "dials_total",
            "Apps reached, by the step of the ladder that did it.",
            MetricType::COUNTER,
            rows("step", Step::ALL.map(Step::label).to_vec(), &|c, i| {
                c.dials[i].get()
            }),
        ),
        family(
            "mapped_dials_total",
            "IPv4 clients dialled for at an app that has an IPv6 address only.",
            MetricType::COUNTER,
            vec![counter(&[], sum(&|c| &c.mapped_dials))],
        ),
        family(
            "handed_over_total",
            "Connections that a worker accepted and another one, with fewer, serves.",
            MetricType::COUNTER,
            vec![counter(&[], sum(&|c| &c.handed_over))],
        ),
        family(
            "dial_errors_total",
            "Apps not reached.",
            MetricType::COUNTER,
            rows(
                "reason",
                DialError::ALL.map(DialError::reason).to_vec(),
                &|c, i| c.dial_errors[i].get(),
            ),
        ),
        family(
            "connect_seconds",
            "From the decision whom to dial for to the connected app.",
            MetricType::HISTOGRAM,
            vec![connect_seconds(workers)],
        ),
        family(
            "relayed_bytes_total",
            "Payload relayed.",
            MetricType::COUNTER,
            rows("direction", Way::BOTH.map(Way::label).to_vec(), &|c, i| {
                c.relayed[i].get()
            }),
        ),
        family(
            "spliced_bytes_total",
            "Payload of these that went through a pipe instead of a buffer.",
            MetricType::COUNTER,
            rows("direction", Way::BOTH.map(Way::label).to_vec(), &|c, i| {
                c.spliced[i].get()
            }),
        ),
        family(
            "pipes_refused_total",
            "Reads that were copied because there was no pipe for them.",
            MetricType::COUNTER,
            vec![counter(&[], sum(&|c| &c.pipes_refused))],
        ),
        family(
            "accept_pauses_total",
            "Times a worker stopped accepting for a while.",
            MetricType::COUNTER,
            rows("reason", Pause::LABELS.to_vec(), &|c, i| {
                c.accept_pauses[i].get()
            }),
        ),
        family(
            "access_log_lost_total",
            "Access-log lines lost because standard output was too slow.",
            MetricType::COUNTER,
            vec![counter(&[], sum(&|c| &c.log_lost))],
        ),
    ]
}

fn connections(workers: &[Arc<Counters>]) -> Vec<Metric> {
    let each = VERSIONS.iter().enumerate().flat_map(|(v, version)| {
        let outcomes = Outcome::LABELS.iter().enumerate();
        outcomes.map(move |(o, outcome)| (v, o, *version, *outcome))
    });
    each.map(|(v, o, version, outcome)| {
        let value = workers
            .iter()
            .map(|counters| counters.connections[v][o].get())
            .sum();
        counter(&[("version", version), ("outcome", outcome)], value)
    })
    .collect()
}

fn app_probes(counts: &probes::Counts) -> MetricFamily {
    let rows = Kind::ALL.into_iter().zip(counts);
    let metrics = rows.flat_map(|(kind, row)| {
        let cells = ProbeResult::ALL.into_iter().zip(row);
        cells.map(move |(result, count)| {
            let labels = [("kind", kind.label()), ("result", result.label())];
            counter(&labels, *count)
        })
    });
    family(
        "app_probes_total",
        "Checks of the app that kubelet's probes and hooks asked for.",
        MetricType::COUNTER,
        metrics.collect(),
    )
}

fn connect_seconds(workers: &[Arc<Counters>]) -> Metric {
    let in_bucket = |index: usize| -> u64 {
        workers
            .iter()
            .map(|counters| counters.connect_buckets[index].get())
            .sum()
    };
    let mut histogram = Histogram::default();
    let mut cumulative = 0;
    let bucket = |(index, bound): (usize, &u64)| {
        cumulative += in_bucket(index);
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(seconds(*bound));
        bucket.set_cumulative_count(cumulative);
        bucket
    };
    histogram.set_bucket(CONNECT_BUCKETS.iter().enumerate().map(bucket).collect());
    histogram.set_sample_count(cumulative + in_bucket(CONNECT_BUCKETS.len()));
    histogram.set_sample_sum(seconds(workers.iter().map(|c| c.connect_sum.get()).sum()));
    let mut metric = Metric::default();
    metric.set_histogram(histogram);
    metric
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const FILE: &str = include_str!("../../docs/metrics.md");

    /// Our part of the page: the operator's follows.
    fn page() -> &'static str {
        let end = FILE.find("\n# The operator's metrics\n");
        &FILE[..end.unwrap()]
    }

    /// Words in back quotes at the beginning of the page's table rows, or anywhere.
    fn documented() -> BTreeSet<&'static str> {
        page().split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_documented_series_are_the_series() {
        let text = text(&[Arc::new(Counters::default())], &Process::default());
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let ours: BTreeSet<_> = types.map(|line| line.replacen(' ', "` | ", 1)).collect();
        let rows = page().lines().filter_map(|line| line.strip_prefix("| `p"));
        let theirs: BTreeSet<_> = rows
            .filter_map(|row| row.split(" |").next().zip(row.split(" | ").nth(1)))
            .map(|(name, kind)| format!("p{name} | {kind}"))
            .filter(|row| row.starts_with("proxyunwrap_") || row.starts_with("process_"))
            .collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn every_reason_and_outcome_is_documented() {
        let documented = documented();
        let reasons = HeaderError::all().map(HeaderError::reason);
        let reasons = reasons.chain(Refusal::ALL.map(Refusal::reason));
        let reasons = reasons.chain(DialError::ALL.map(DialError::reason));
        let probes = Kind::ALL.map(Kind::label).into_iter();
        let probes = probes.chain(ProbeResult::ALL.map(ProbeResult::label));
        for word in reasons.chain(Outcome::LABELS).chain(probes) {
            assert!(documented.contains(word), "{word} is in docs/metrics.md");
        }
    }

    #[test]
    fn the_histogram_counts_what_is_beyond_its_last_bound() {
        let counters = Counters::default();
        counters.record_dial(Step::AsClient, std::time::Duration::from_secs(9));
        let text = text(&[Arc::new(counters)], &Process::default());
        assert!(text.contains("proxyunwrap_connect_seconds_bucket{le=\"+Inf\"} 1"));
        assert!(text.contains("proxyunwrap_connect_seconds_bucket{le=\"5\"} 0"));
    }
}
