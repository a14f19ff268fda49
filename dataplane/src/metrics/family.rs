//! Families, counters and gauges in the prometheus crate's own types.

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

pub(super) fn family(
    name: &str,
    help: &str,
    kind: MetricType,
    metrics: Vec<Metric>,
) -> MetricFamily {
    let mut family = MetricFamily::default();
    // Names that begin with `process_` are Prometheus' own for every program.
    let prefix = if name.starts_with("process_") {
        ""
    } else {
        "proxyunwrap_"
    };
    family.set_name(format!("{prefix}{name}"));
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

pub(super) fn counter(labels: &[(&str, &str)], value: u64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(float(value));
    let mut metric = Metric::default();
    metric.set_counter(counter);
    labelled(labels, metric)
}

pub(super) fn gauge(value: u64) -> Metric {
    float_gauge(float(value))
}

pub(super) fn float_gauge(value: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    Metric::from_gauge(gauge)
}

pub(super) fn float_counter(value: f64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(value);
    let mut metric = Metric::default();
    metric.set_counter(counter);
    metric
}

pub(super) fn labelled(labels: &[(&str, &str)], mut metric: Metric) -> Metric {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    metric.set_label(labels.iter().map(pair).collect());
    metric
}

/// Prometheus knows floats only; counts stay exact up to 2^53.
#[allow(
    clippy::cast_precision_loss,
    reason = "the exposition format has no integers"
)]
pub(super) fn float(value: u64) -> f64 {
    value as f64
}

pub(super) fn seconds(micros: u64) -> f64 {
    float(micros) / 1e6
}
