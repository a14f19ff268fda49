//! Every series of the operator's `/metrics`, and every value of their labels.
//!
//! Labels are closed sets: no name of a pod, namespace or resource ever becomes one.
//! `docs/metrics.md` lists the same series; a test compares the two.

pub mod labels;
mod process;
mod series;

use std::time::{Duration, SystemTime};

use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Gauge, Histogram, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry,
    TextEncoder,
};
use proxyunwrap_api::status::PodCounts;

use crate::refusal::Reason;
use crate::webhook::review::Outcome;
pub use labels::{Certificate, PodPatch, Restart, Step, Telling, Unanswered, Watched};

/// The operator's counters. Every series is there from the start, at zero.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    started: SystemTime,
    injections: IntCounterVec,
    admission_seconds: Histogram,
    unanswered: IntCounterVec,
    certificate_expiry: Gauge,
    certificate_expires: std::sync::Mutex<Option<SystemTime>>,
    certificates: IntCounterVec,
    leader: IntGauge,
    ready: IntGauge,
    watch_errors: IntCounterVec,
    events: IntCounterVec,
    reconcile_seconds: HistogramVec,
    reconcile_failures: IntCounterVec,
    pods: IntGaugeVec,
    pod_patches: IntCounterVec,
    restarts: IntCounterVec,
}

impl Metrics {
    /// The text of `/metrics`, Prometheus' format 0.0.4.
    pub fn text(&self) -> String {
        let left = self.expires().map(seconds_left);
        self.certificate_expiry.set(left.unwrap_or(0.0));
        let mut families: Vec<MetricFamily> = self.registry.gather();
        families.extend(process::families(self.started));
        let mut text = Vec::new();
        // Encoding fails only when writing does, or for a family without a metric; neither occurs.
        let _ = TextEncoder::new().encode(&families, &mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// A pod was reviewed.
    pub fn reviewed(&self, outcome: Outcome, reason: Option<Reason>, took: Duration) {
        let reason = reason.map_or("", Reason::name);
        let labels = [outcome.name(), reason];
        self.injections.with_label_values(&labels).inc();
        self.admission_seconds.observe(took.as_secs_f64());
    }

    /// A request or connection of the webhook ended without a review.
    pub fn unanswered(&self, why: Unanswered) {
        self.unanswered.with_label_values(&[why.name()]).inc();
    }

    /// A certificate is served that ends then.
    pub fn certificate_served(&self, expires: SystemTime) {
        *self.lock_expires() = Some(expires);
    }

    /// A certificate was made.
    pub fn certificate_made(&self, what: Certificate) {
        self.certificates.with_label_values(&[what.name()]).inc();
    }

    /// Whether this replica leads. Who does not has nothing to say about pods.
    pub fn set_leader(&self, leads: bool) {
        self.leader.set(i64::from(leads));
        if !leads {
            self.set_pods(PodCounts::default());
        }
    }

    /// Whether this replica is ready.
    pub fn set_ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// A watch broke; it is begun anew.
    pub fn watch_failed(&self, kind: Watched) {
        self.watch_errors.with_label_values(&[kind.name()]).inc();
    }

    /// An Event was told, or was not.
    pub fn told(&self, result: Telling) {
        self.events.with_label_values(&[result.name()]).inc();
    }

    /// A step took so long.
    pub fn reconciled(&self, step: Step, took: Duration) {
        let seconds = self.reconcile_seconds.with_label_values(&[step.name()]);
        seconds.observe(took.as_secs_f64());
    }

    /// A step failed; it is tried again.
    pub fn reconcile_failed(&self, step: Step) {
        let failures = self.reconcile_failures.with_label_values(&[step.name()]);
        failures.inc();
    }

    /// Pods of all namespaces together; zero while we do not lead.
    pub fn set_pods(&self, counts: PodCounts) {
        let PodCounts {
            matched,
            injected,
            outdated,
            failed,
        } = counts;
        let states = [
            ("matched", matched),
            ("injected", injected),
            ("outdated", outdated),
            ("failed", failed),
        ];
        for (state, count) in states {
            self.pods.with_label_values(&[state]).set(i64::from(count));
        }
    }

    /// A pod's configuration.
    pub fn pod_patched(&self, result: PodPatch) {
        self.pod_patches.with_label_values(&[result.name()]).inc();
    }

    /// From a change to the last pod of a namespace with its new configuration.
    pub fn config_pushed(&self, took: Duration) {
        let _ = took;
    }

    /// A workload's restart.
    pub fn restarted(&self, result: Restart) {
        self.restarts.with_label_values(&[result.name()]).inc();
    }

    fn expires(&self) -> Option<SystemTime> {
        *self.lock_expires()
    }

    fn lock_expires(&self) -> std::sync::MutexGuard<'_, Option<SystemTime>> {
        self.certificate_expires
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Negative once it has passed.
fn seconds_left(end: SystemTime) -> f64 {
    match end.duration_since(SystemTime::now()) {
        Ok(left) => left.as_secs_f64(),
        Err(past) => -past.duration().as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = include_str!("../../docs/metrics.md");

    fn page() -> &'static str {
        PAGE.split_once("\n# The operator's metrics\n").unwrap().1
    }

    #[test]
    fn the_documented_series_are_the_series() {
        let text = Metrics::default().text();
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let ours: BTreeSet<_> = types.map(|line| line.replacen(' ', "` | ", 1)).collect();
        let rows = page().lines().filter_map(|line| line.strip_prefix("| `p"));
        let theirs: BTreeSet<_> = rows
            .filter_map(|row| row.split(" |").next().zip(row.split(" | ").nth(1)))
            .map(|(name, kind)| format!("p{name} | {kind}"))
            .collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn every_value_of_every_label_is_there_from_the_start_and_documented() {
        let text = Metrics::default().text();
        let documented: BTreeSet<_> = page().split(['`', ' ', ',', '|', '\n']).collect();
        let mut values = BTreeSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            for pair in line
                .split(['{', '}', ','])
                .filter(|part| part.contains("=\""))
            {
                let (name, value) = pair.split_once('=').unwrap();
                if !["le", "version"].contains(&name) {
                    values.insert(value.trim_matches('"').to_owned());
                }
            }
        }
        assert!(values.contains("PodSecurityLevel"), "{values:?}");
        for value in values.iter().filter(|value| !value.is_empty()) {
            assert!(
                documented.contains(value.as_str()),
                "{value} is in docs/metrics.md"
            );
        }
    }

    #[test]
    fn the_certificates_expiry_is_what_is_left_of_it() {
        let metrics = Metrics::default();
        metrics.certificate_served(SystemTime::now() + Duration::from_secs(90));
        let text = metrics.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("proxyunwrap_operator_certificate_expiry_seconds "));
        let left: f64 = line.unwrap().parse().unwrap();
        assert!((60.0..=90.0).contains(&left), "{left}");
    }
}
