//! The rounds: in each, every contender is measured once, and each round begins with another one. What
//! changes on the machine meanwhile meets all of them alike.

use std::collections::BTreeMap;

use super::{Settings, idle};
use crate::contender::Contender;
use crate::figure::value;
use crate::interrupt;
use crate::results::{Results, Role, Sample};
use crate::rig::quiet;
use crate::statistics;
use crate::workload::Workload;

/// Rounds of the idle load, which is slow, and whose figures hardly vary.
const IDLE_ROUNDS: usize = 3;

/// A load with more faults than this share of its messages was not carried: it has no figures.
const FAULTY: f64 = 0.001;

pub(super) fn measure(
    field: &mut [Contender],
    workload: Workload,
    settings: &Settings,
    results: &mut Results,
) -> anyhow::Result<()> {
    let rounds = match workload {
        Workload::Idle => settings.rounds.min(IDLE_ROUNDS),
        _ => settings.rounds,
    };
    for round in 0..rounds {
        for at in order(field.len(), round) {
            interrupt::check()?;
            let contender = &mut field[at];
            let was_quiet = quiet::is_quiet_within(settings.patience)?;
            contender.take_disturbed();
            let rate = results.run.rate.unwrap_or(0.0);
            let sample = sample(contender, workload, settings, rate);
            let sample = Sample {
                round,
                quiet: was_quiet && !contender.take_disturbed(),
                ..sample
            };
            tell(&sample, workload, rounds);
            results.samples.push(sample);
        }
    }
    interrupt::check()
}

/// Everybody once, beginning with another one in each round.
fn order(contenders: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |at| (at + round) % contenders)
}

/// A load that could not be offered is a sample, too: one without figures and with a fault.
fn sample(contender: &mut Contender, workload: Workload, settings: &Settings, rate: f64) -> Sample {
    let measured = match workload {
        Workload::Idle => idle::measure(contender, settings),
        _ => once(contender, workload, settings, rate),
    };
    let (figures, faults) = measured.unwrap_or_else(|error| {
        eprintln!("  {}: {error:#}", contender.name);
        (BTreeMap::new(), BTreeMap::from([(format!("{error:#}"), 1)]))
    });
    Sample {
        workload: workload.key().to_owned(),
        contender: contender.name.clone(),
        figures,
        faults,
        ..Sample::default()
    }
}

type Measured = (BTreeMap<String, f64>, BTreeMap<String, u64>);

fn once(
    contender: &mut Contender,
    workload: Workload,
    settings: &Settings,
    rate: f64,
) -> anyhow::Result<Measured> {
    let words = workload.words(settings.seconds, settings.threads, rate);
    let found = contender.offer(&words)?;
    let wrong: u64 = found.faults.values().sum();
    let mut figures = BTreeMap::new();
    if wrong as f64 <= FAULTY * found.messages.max(1_000) as f64 {
        for figure in workload.figures() {
            if let Some(value) = value(figure.key, &found) {
                figures.insert(figure.key.to_owned(), value);
            }
        }
    }
    Ok((figures, found.faults))
}

/// Half of the best peer's ping-pong rate: of the samples if there are some, otherwise of a short try.
pub(super) fn half_load(
    field: &mut [Contender],
    settings: &Settings,
    results: &Results,
) -> anyhow::Result<f64> {
    let mut tried = results.clone();
    let has_samples = |tried: &Results| {
        tried
            .samples
            .iter()
            .any(|sample| sample.workload == "pingpong")
    };
    if !has_samples(&tried) {
        eprintln!("a short try for the open loop's rate");
        let short = Settings {
            rounds: 1,
            seconds: 0.5,
            ..settings.clone()
        };
        measure(field, Workload::PingPong, &short, &mut tried)?;
    }
    let rate = Workload::PingPong.figures()[0];
    let rows = statistics::rows(&tried, Workload::PingPong, rate);
    let best = statistics::best_peer(&tried, Workload::PingPong, rate);
    let is_meant = |name: &str| {
        best.as_deref()
            .map_or_else(|| !is_direct(&tried, name), |best| best == name)
    };
    let rates = rows
        .iter()
        .filter(|row| is_meant(&row.contender))
        .map(|row| row.value.median);
    // Nobody but direct: then it is direct's.
    let slowest = rates.chain(rows.iter().map(|row| row.value.median)).next();
    Ok(slowest.unwrap_or(20_000.0) / 2.0)
}

fn is_direct(results: &Results, name: &str) -> bool {
    let mut direct = results
        .contenders
        .iter()
        .filter(|listed| listed.role == Role::Direct);
    direct.any(|listed| listed.name == name)
}

fn tell(sample: &Sample, workload: Workload, rounds: usize) {
    let first = workload.figures()[0];
    let value = sample
        .figures
        .get(first.key)
        .map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
    let noise = if sample.quiet {
        ""
    } else {
        ", others used the processors"
    };
    let faults = match sample.faults.len() {
        0 => String::new(),
        _ => format!(", faults: {:?}", sample.faults),
    };
    let (round, name) = (sample.round + 1, &sample.contender);
    eprintln!(
        "{} {round}/{rounds} {name}: {value} {}{noise}{faults}",
        workload.key(),
        first.key
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_everybody_and_begins_with_another() {
        let rounds: Vec<Vec<_>> = (0..4).map(|round| order(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }
}
