//! What the operator says of itself.

use std::collections::BTreeMap;

use anyhow::Context;
use proxyunwrap_e2e::cluster::{Operator, Pod};

/// At one moment.
pub(crate) struct Figures {
    /// Resident memory in bytes.
    memory: f64,
    /// Processor time in seconds.
    pub(crate) processor: f64,
    /// How long admissions took.
    pub(crate) admissions: Histogram,
}

/// How many took how long at most; bounds in microseconds.
#[derive(Clone)]
pub(crate) struct Histogram(BTreeMap<u64, u64>);

impl Figures {
    pub(crate) async fn of(operator: &Operator, pod: &Pod) -> anyhow::Result<Self> {
        let text = operator.metrics(pod).await?;
        Ok(Self {
            memory: value(&text, "process_resident_memory_bytes ")?,
            processor: value(&text, "process_cpu_seconds_total ")?,
            admissions: Histogram::of(&text, "proxyunwrap_operator_admission_seconds"),
        })
    }

    pub(crate) fn mebibytes(&self) -> String {
        format!("{:.0}", self.memory / f64::from(1 << 20))
    }
}

impl Histogram {
    fn of(text: &str, name: &str) -> Self {
        let prefix = format!("{name}_bucket{{le=\"");
        let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
        let buckets = lines.filter_map(|line| {
            let (bound, count) = line.split_once("\"} ")?;
            let bound = bound.parse::<f64>().ok()? * 1e6;
            Some((bound.min(1e18).round() as u64, count.parse().ok()?))
        });
        Self(buckets.collect())
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        let earlier = |bound| before.0.get(bound).copied().unwrap_or_default();
        let rows = self.0.iter();
        Self(
            rows.map(|(bound, count)| (*bound, count - earlier(bound)))
                .collect(),
        )
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().copied().max().unwrap_or_default()
    }

    /// In words.
    pub(crate) fn says(&self) -> String {
        let within = |part| self.quantile(part) * 1e3;
        let (half, most) = (within(0.5), within(0.99));
        format!(
            "{}: half within {half} ms, 99 of 100 within {most} ms",
            self.count()
        )
    }

    /// The bound in seconds of the bucket that holds this part of all.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let wanted = part * self.count() as f64;
        let found = self.0.iter().find(|(_, count)| **count as f64 >= wanted);
        found.map_or(f64::INFINITY, |(bound, _)| *bound as f64 / 1e6)
    }
}

fn value(text: &str, name: &str) -> anyhow::Result<f64> {
    let found = text.lines().find_map(|line| line.strip_prefix(name));
    Ok(found
        .with_context(|| format!("no {name}"))?
        .trim()
        .parse()?)
}
