//! Names, helps and buckets of the series.

use std::sync::Mutex;
use std::time::SystemTime;

use prometheus::{
    Gauge, Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};
use proxyunwrap_api::status::PodCounts;

use super::Metrics;
use super::labels::{Certificate, PodPatch, Restart, Step, Telling, Unanswered, Watched};
use crate::refusal::Reason;
use crate::webhook::review::Outcome;

/// Before every name.
const PREFIX: &str = "proxyunwrap_operator";

/// A review takes well under a millisecond; an API server gives up after seconds.
const ADMISSION_BUCKETS: [f64; 11] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.5,
];

/// From a namespace with one pod to requests that are tried again.
const RECONCILE_BUCKETS: [f64; 9] = [0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];

impl Default for Metrics {
    fn default() -> Self {
        let all = Series(Registry::new());
        let metrics = Self {
            injections: all.counters(
                "injections_total",
                "Pods reviewed by the webhook.",
                &["result", "reason"],
                &[],
            ),
            admission_seconds: all.histogram(
                "admission_seconds",
                "From a request's last byte to its answer.",
            ),
            unanswered: all.counters(
                "webhook_unanswered_total",
                "Connections and requests of the webhook that ended without a review.",
                &["reason"],
                &Unanswered::names(),
            ),
            certificate_expiry: all.gauge(
                "certificate_expiry_seconds",
                "What is left of the served certificate's life; 0 without one.",
            ),
            certificate_expires: Mutex::default(),
            certificates: all.counters(
                "certificates_total",
                "Certificates made for the webhook.",
                &["what"],
                &Certificate::names(),
            ),
            leader: all.int_gauge("leader", "1 while this replica writes."),
            ready: all.int_gauge("ready", "1 while this replica answers reviews."),
            watch_errors: all.counters(
                "watch_errors_total",
                "Watches that broke and were begun anew.",
                &["kind"],
                &Watched::names(),
            ),
            events: all.counters(
                "events_total",
                "Kubernetes Events by what became of them.",
                &["result"],
                &Telling::names(),
            ),
            reconcile_seconds: all.histograms(
                "reconcile_seconds",
                "Time that a step of a look at a namespace took.",
                "step",
                &Step::names(),
            ),
            reconcile_failures: all.counters(
                "reconcile_failures_total",
                "Steps that failed and are tried again.",
                &["step"],
                &Step::names(),
            ),
            pods: all.gauges(
                "pods",
                "Pods by what became of them, as the leader sees them.",
            ),
            pod_patches: all.counters(
                "pod_patches_total",
                "Changes of running pods' configuration.",
                &["result"],
                &PodPatch::names(),
            ),
            restarts: all.counters(
                "restarts_total",
                "Restarts of workloads.",
                &["result"],
                &Restart::names(),
            ),
            started: SystemTime::now(),
            registry: all.0,
        };
        metrics.begin();
        metrics
    }
}

impl Metrics {
    /// What has no single label: outcomes with their reasons, states of pods.
    fn begin(&self) {
        for outcome in Outcome::ALL {
            let reasons: Vec<_> = match outcome {
                Outcome::Refused => Reason::ALL.iter().map(|reason| reason.name()).collect(),
                Outcome::Injected | Outcome::Unchanged | Outcome::Skipped => vec![""],
            };
            for reason in reasons {
                self.injections.with_label_values(&[outcome.name(), reason]);
            }
        }
        self.set_pods(PodCounts::default());
    }
}

/// Makes series. Names and labels are constants of this file, and a test makes all of them.
struct Series(Registry);

#[allow(
    clippy::expect_used,
    reason = "names and labels are constants of this file"
)]
impl Series {
    fn counters(&self, name: &str, help: &str, labels: &[&str], values: &[&str]) -> IntCounterVec {
        let counters = IntCounterVec::new(options(name, help), labels).expect("a good name");
        for value in values {
            counters.with_label_values(&[value]);
        }
        self.register(counters)
    }

    fn gauges(&self, name: &str, help: &str) -> IntGaugeVec {
        self.register(IntGaugeVec::new(options(name, help), &["state"]).expect("a good name"))
    }

    fn int_gauge(&self, name: &str, help: &str) -> IntGauge {
        self.register(IntGauge::with_opts(options(name, help)).expect("a good name"))
    }

    fn gauge(&self, name: &str, help: &str) -> Gauge {
        self.register(Gauge::with_opts(options(name, help)).expect("a good name"))
    }

    fn histogram(&self, name: &str, help: &str) -> Histogram {
        let options = HistogramOpts::from(options(name, help)).buckets(ADMISSION_BUCKETS.to_vec());
        self.register(Histogram::with_opts(options).expect("a good name"))
    }

    fn histograms(&self, name: &str, help: &str, label: &str, values: &[&str]) -> HistogramVec {
        let options = HistogramOpts::from(options(name, help)).buckets(RECONCILE_BUCKETS.to_vec());
        let histograms = HistogramVec::new(options, &[label]).expect("a good name");
        for value in values {
            histograms.with_label_values(&[value]);
        }
        self.register(histograms)
    }

    fn register<C: prometheus::core::Collector + Clone + 'static>(&self, series: C) -> C {
        let boxed = Box::new(series.clone());
        self.0.register(boxed).expect("a name of its own");
        series
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(format!("{PREFIX}_{name}"), help)
}
