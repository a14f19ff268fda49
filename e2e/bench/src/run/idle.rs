//! Idle connections: what each costs the proxy, and what they cost those that are active.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use anyhow::{Context, ensure};

use super::Settings;
use crate::contender::Contender;
use crate::load::{Found, HELD};
use crate::rig::family;
use crate::workload::{IDLE, Workload, value};

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

type Measured = (BTreeMap<String, f64>, BTreeMap<String, u64>);

/// For each number of connections: a fresh proxy, ping-pong alone, then beside so many idle ones.
pub(super) fn measure(contender: &mut Contender, settings: &Settings) -> anyhow::Result<Measured> {
    let (mut figures, mut faults) = (BTreeMap::new(), BTreeMap::new());
    for (count, size) in counts(settings.room.connections).into_iter().zip(SIZES) {
        let step = beside(contender, settings, count, size);
        let (mut found, wrong) = step.with_context(|| format!("{count} idle connections"))?;
        figures.append(&mut found);
        for (name, count) in wrong {
            *faults.entry(name).or_insert(0) += count;
        }
    }
    Ok((figures, faults))
}

fn beside(
    contender: &mut Contender,
    settings: &Settings,
    count: u64,
    size: &str,
) -> anyhow::Result<Measured> {
    contender.restart()?;
    let words = Workload::PingPong.words(settings.seconds, settings.threads, 0.0);
    // What is touched once by the first connections is no part of an idle one's cost.
    let alone = contender.offer(&words)?;
    let pids = contender.pids();
    let before = family::held(&pids);
    let held = Held::start(contender, count)?;
    let during = family::held(&pids);
    let active = contender.offer(&words)?;
    let ended = held.end()?;
    let mut figures = BTreeMap::new();
    if !pids.is_empty() {
        let bytes = during.kibibytes.saturating_sub(before.kibibytes) * 1024;
        figures.insert(format!("bytes_{size}"), bytes as f64 / count as f64);
        let descriptors = during.descriptors.saturating_sub(before.descriptors);
        figures.insert(
            format!("descriptors_{size}"),
            descriptors as f64 / count as f64,
        );
        let ends = during.pipe_ends.saturating_sub(before.pipe_ends);
        figures.insert(format!("pipes_{size}"), ends as f64 / 2.0);
    }
    let rates = [&active, &alone].map(|found| value("rate", found));
    if let [Some(active), Some(alone)] = rates {
        figures.insert(format!("active_{size}"), active / alone);
    }
    let faults = [alone, active, ended]
        .into_iter()
        .flat_map(|found| found.faults);
    Ok((figures, faults.collect()))
}

/// A load generator that holds its connections until it is told to let go.
struct Held {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Held {
    /// Returns when every connection is there.
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
            child,
            output: BufReader::new(output),
        };
        let mut line = String::new();
        held.output.read_line(&mut line)?;
        ensure!(
            line.trim() == HELD,
            "not all of the connections could be opened"
        );
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

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_tried() {
        assert_eq!(counts(60_000), [10_000, 50_000]);
        assert_eq!(counts(20_000), [10_000]);
        assert_eq!(counts(9_700), [9_600]);
    }
}
