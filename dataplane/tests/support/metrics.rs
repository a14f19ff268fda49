//! The text of `/metrics` as numbers that a test can name.

use std::collections::BTreeMap;
use std::fmt;

/// Series by name, as in `dials_total{step="as_client"}`, without our prefix.
pub struct Metrics(BTreeMap<String, u64>);

impl Metrics {
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(series).collect())
    }

    /// The value of a series; one that does not exist fails the test.
    #[track_caller]
    pub fn get(&self, series: &str) -> u64 {
        let value = self.0.get(series).copied();
        value.unwrap_or_else(|| panic!("no series {series}:\n{self}"))
    }

    /// The sum of all series whose name starts so.
    pub fn sum(&self, prefix: &str) -> u64 {
        self.counts(prefix).map(|(_, value)| value).sum()
    }

    /// `connections_total` of this outcome, whatever the version.
    pub fn ended(&self, outcome: &str) -> u64 {
        let label = format!("outcome=\"{outcome}\"");
        self.counts("connections_total{")
            .filter(|(name, _)| name.contains(&label))
            .map(|(_, value)| value)
            .sum()
    }

    /// `dials_total` of this step.
    #[track_caller]
    pub fn dials(&self, step: &str) -> u64 {
        self.get(&format!("dials_total{{step=\"{step}\"}}"))
    }

    /// What has grown since `before`, as `name value` lines: gauges and times are left out.
    pub fn growth(&self, before: &Self) -> Vec<String> {
        let counts = self.counts("").filter(|(name, _)| name.contains("_total"));
        counts
            .map(|(name, now)| (name, now - before.0.get(name).copied().unwrap_or(0)))
            .filter(|(_, more)| *more > 0)
            .map(|(name, more)| format!("{name} {more}"))
            .collect()
    }

    fn counts<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.0
            .iter()
            .filter(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.as_str(), *value))
    }
}

fn series(line: &str) -> Option<(String, u64)> {
    let (name, value) = line.rsplit_once(' ')?;
    let name = name.strip_prefix("proxyunwrap_").unwrap_or(name);
    // Times and sums of seconds are no counts; no test asks for them.
    Some((name.to_owned(), value.parse().ok()?))
}

/// Without the zeros.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = self.0.iter().filter(|(_, value)| **value > 0);
        all.try_for_each(|(name, value)| writeln!(f, "{name} {value}"))
    }
}
