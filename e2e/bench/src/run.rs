//! A run: who takes part, what is measured of whom, in rounds.

mod field;
mod folder;
mod idle;
mod rounds;
mod syscalls;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Uid;

use crate::args::Run;
use crate::contender::Contender;
use crate::contender::recipe::Room;
use crate::results::{Results, RunFacts};
use crate::workload::{IDLE, Workload};
use crate::{interrupt, machine, report};

use self::folder::Folder;

/// Two descriptors for each connection of the largest load, and room for what else is open.
const DESCRIPTORS: u64 = 2 * IDLE[IDLE.len() - 1] + OTHERS;
const OTHERS: u64 = 600;

/// How a run measures.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) threads: usize,
    pub(crate) room: Room,
    /// How long a measurement waits for others to leave the processors.
    pub(crate) patience: Duration,
}

/// Measures, or takes what was measured, and writes the report.
///
/// # Errors
/// When the run cannot begin, is interrupted, or its report cannot be written.
pub(crate) fn run(options: &Run) -> anyhow::Result<()> {
    let results = match &options.from {
        Some(file) => {
            serde_json::from_str(&fs::read_to_string(file)?).context("the raw results")?
        }
        None => measure(options)?,
    };
    report::write(&results, &options.docs)
}

fn measure(options: &Run) -> anyhow::Result<Results> {
    ensure!(
        Uid::effective().is_root(),
        "this makes network namespaces: run it as root"
    );
    let workloads = workloads(&options.only)?;
    interrupt::listen()?;
    let settings = settings(options, allow_descriptors()?)?;
    let folder = Folder::new()?;
    let mut results = Results {
        machine: machine::describe(settings.room.processors),
        run: facts(options, &settings),
        ..Results::default()
    };
    let (mut field, listed) = field::start(options, &settings, &folder)?;
    results.contenders = listed;
    if let Some(contender) = field.first() {
        results.machine.congestion = contender.congestion()?;
    }
    let ended = measure_all(&mut field, &workloads, options, &settings, &mut results);
    drop(field);
    keep(&results, &options.raw)?;
    ended.map(|()| results)
}

fn measure_all(
    field: &mut [Contender],
    workloads: &[Workload],
    options: &Run,
    settings: &Settings,
    results: &mut Results,
) -> anyhow::Result<()> {
    for workload in workloads {
        if *workload == Workload::Open {
            results.run.rate = Some(match options.rate {
                Some(rate) => rate,
                None => rounds::half_load(field, settings, results)?,
            });
        }
        rounds::measure(field, *workload, settings, results)?;
    }
    if workloads.contains(&Workload::Connect) {
        results.calls = syscalls::count(field)?;
    }
    Ok(())
}

fn settings(options: &Run, descriptors: u64) -> anyhow::Result<Settings> {
    let processors = thread::available_parallelism()?.get();
    Ok(Settings {
        rounds: options.rounds.max(1),
        seconds: options.seconds,
        threads: options.threads.unwrap_or_else(|| (processors / 2).max(1)),
        patience: Duration::try_from_secs_f64(options.patience)?,
        room: Room {
            processors,
            connections: descriptors.saturating_sub(OTHERS) / 2,
        },
    })
}

/// Asks for as many descriptors as the loads want; everything that is started inherits them. Without
/// the right to raise the limit it is what it is, and fewer idle connections are held.
fn allow_descriptors() -> anyhow::Result<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let more = hard.max(DESCRIPTORS);
    if setrlimit(Resource::RLIMIT_NOFILE, more, more).is_ok() {
        return Ok(more);
    }
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).context("the limit of descriptors")?;
    Ok(hard)
}

fn facts(options: &Run, settings: &Settings) -> RunFacts {
    RunFacts {
        command: std::env::args().collect::<Vec<_>>().join(" "),
        rounds: settings.rounds,
        seconds: settings.seconds,
        threads: settings.threads,
        rate: options.rate,
        idle: idle::counts(settings.room.connections),
        commit: machine::commit(),
    }
}

fn workloads(only: &[String]) -> anyhow::Result<Vec<Workload>> {
    let known = || Workload::ALL.map(Workload::key).join(", ");
    for name in only {
        let is_known = Workload::ALL.iter().any(|workload| workload.key() == name);
        ensure!(
            is_known,
            "no workload is called {name}; there are {}",
            known()
        );
    }
    let is_wanted =
        |workload: &Workload| only.is_empty() || only.iter().any(|name| name == workload.key());
    Ok(Workload::ALL.into_iter().filter(is_wanted).collect())
}

fn keep(results: &Results, file: &Path) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(results)?;
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_come_in_the_order_of_the_report() {
        let only = ["stream", "pingpong"].map(str::to_owned);
        assert_eq!(
            workloads(&only).unwrap(),
            [Workload::PingPong, Workload::Stream]
        );
        assert_eq!(workloads(&[]).unwrap().len(), Workload::ALL.len());
    }

    #[test]
    fn a_workload_that_is_not_known_names_those_that_are() {
        let error = workloads(&["ping".to_owned()]).unwrap_err().to_string();
        assert!(
            error.starts_with("no workload is called ping; there are pingpong, stream"),
            "{error}"
        );
    }
}
