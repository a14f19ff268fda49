//! Idle connections: what each costs the proxy, and what they cost those that are active.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use anyhow::{Context, ensure};

use super::Settings;
use crate::contender::Contender;
use crate::figure::value;
use crate::load::{Found, HELD};
use crate::rig::family::{self, Held};
use crate::workload::{IDLE, Workload};

/// Ends of the figures' keys.
const SIZES: [&str; 2] = ["few", "many"];

/// Connections that are active meanwhile have to fit, too.
const ACTIVE: u64 = 100;

/// How many to hold where so many connections fit: what is wanted, or what fits instead of the first.
pub(super) fn counts(fit: u64) -> Vec<u64> {
    let fit = fit.saturating_sub(ACTIVE);
    let [few, many] = IDLE;
    match many {
        many if many <= fit => vec![few, many],
        _ => vec![few.min(fit)],
    }
}

type Figures = BTreeMap<String, f64>;
type Faults = BTreeMap<String, u64>;

/// For each number of connections: a fresh proxy, ping-pong alone, then beside so many idle ones.
pub(super) fn measure(
    contender: &mut Contender,
    settings: &Settings,
) -> anyhow::Result<(Figures, Faults)> {
    let (mut figures, mut faults) = (Figures::new(), Faults::new());
    for (count, size) in counts(settings.room.connections).into_iter().zip(SIZES) {
        contender.restart()?;
        let step = beside(contender, settings, count, &mut faults);
        let found = step.with_context(|| format!("{count} idle connections"))?;
        let named = found
            .into_iter()
            .map(|(name, value)| (format!("{name}_{size}"), value));
        figures.extend(named);
    }
    Ok((figures, faults))
}

/// The figures of one number, without its name at their ends.
fn beside(
    contender: &mut Contender,
    settings: &Settings,
    count: u64,
    faults: &mut Faults,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let words = Workload::PingPong.words(settings.seconds, settings.threads, 0.0);
    // What is touched once by the first connections is no part of an idle one's cost.
    let alone = contender.offer(&words)?;
    let pids = contender.pids();
    let before = family::held(&pids);
    let held = HeldOpen::start(contender, count)?;
    let during = family::held(&pids);
    // A proxy that is out of descriptors may take nobody any more.
    let active = contender.offer(&words);
    let mut figures = vec![("held", held.count as f64)];
    if !pids.is_empty() {
        figures.extend(costs(&before, &during, held.count as f64));
    }
    match active.map(|found| value("rate", &found).zip(value("rate", &alone))) {
        Ok(rates) => figures.extend(rates.map(|(active, alone)| ("active", active / alone))),
        Err(_) => note(faults, "no ping-pong beside them"),
    }
    for (name, _) in held.end()?.faults {
        note(faults, &format!("{name} of {count} idle"));
    }
    Ok(figures)
}

fn note(faults: &mut Faults, what: &str) {
    *faults.entry(what.to_owned()).or_insert(0) += 1;
}

/// What `count` connections made the proxy hold.
fn costs(before: &Held, during: &Held, count: f64) -> [(&'static str, f64); 3] {
    let more = |during: u64, before: u64| during.saturating_sub(before) as f64;
    let bytes = more(during.kibibytes, before.kibibytes) * 1024.0;
    let descriptors = more(during.descriptors, before.descriptors);
    let pipes = more(during.pipe_ends, before.pipe_ends) / 2.0;
    [
        ("bytes", bytes / count),
        ("descriptors", descriptors / count),
        ("pipes", pipes),
    ]
}

/// A load generator that holds its connections until it is told to let go.
struct HeldOpen {
    count: u64,
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl HeldOpen {
    /// Returns when every connection is there, or no more can be had.
    fn start(contender: &mut Contender, count: u64) -> anyhow::Result<Self> {
        let words = [
            "idle".to_owned(),
            "--connections".to_owned(),
            count.to_string(),
        ];
        let mut child = contender
            .load(&words, count)
            .spawn()
            .context("the load does not start")?;
        let output = child.stdout.take().context("the load has no output")?;
        let mut held = Self {
            count: 0,
            child,
            output: BufReader::new(output),
        };
        let mut line = String::new();
        held.output.read_line(&mut line)?;
        let count = line
            .trim()
            .strip_prefix(HELD)
            .map(|count| count.trim().parse());
        held.count = count.with_context(|| format!("the load said {line:?}"))??;
        ensure!(held.count > 0, "none could be opened");
        Ok(held)
    }

    /// Lets go, and says how many of the connections were lost before.
    fn end(mut self) -> anyhow::Result<Found> {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said)?;
        serde_json::from_str(said.trim()).context("what the idle load printed")
    }
}

impl Drop for HeldOpen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_the_growth_for_each() {
        let held = |kibibytes, descriptors, pipe_ends| Held {
            kibibytes,
            descriptors,
            pipe_ends,
        };
        let costs = costs(&held(5_000, 20, 4), &held(6_000, 2_020, 104), 1_000.0);
        assert_eq!(
            costs,
            [("bytes", 1_024.0), ("descriptors", 2.0), ("pipes", 50.0)]
        );
    }

    #[test]
    fn what_does_not_fit_is_not_tried() {
        assert_eq!(counts(60_000), [10_000, 50_000]);
        assert_eq!(counts(20_000), [10_000]);
        assert_eq!(counts(9_700), [9_600]);
    }
}
