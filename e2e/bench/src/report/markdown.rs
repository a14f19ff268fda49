//! The table: `docs/benchmarks.md`.

use std::fmt::Write;

use super::number::{plain, ratio, with_spread};
use super::{aside, contenders};
use crate::figure::Figure;
use crate::results::{Results, Role, State};
use crate::statistics::{Row, best_peer, rows};
use crate::workload::Workload;

/// The whole document.
pub(super) fn render(results: &Results, chart: &str) -> String {
    let mut text =
        String::from("# Benchmarks\n\n<!-- Written by `make bench`; do not edit. -->\n\n");
    text += INTRODUCTION;
    text += &conditions(results);
    let _ = write!(text, "\n![Share of the rate without a proxy]({chart})\n");
    text += &tables(results);
    text += &contenders::render(results);
    text
}

const INTRODUCTION: &str = "\
What the way through ProxyUnwrap costs, and what it costs through others that show an app its client's address, \
measured on one machine in one run by `make bench`. Absolute figures are of that machine, where load, proxy and app \
share the processors; compare ratios.

Every contender has a pair of network namespaces, joined by a cable as balancer and pod are, with a proxy and an app of \
its own, and is proven to show the app the client of the header before it is measured. Rounds are interleaved: each \
measures every contender once, and begins with another one. A cell is the median of the rounds with the least and the \
most. *Of direct* and *of the best peer* are ratios within a round, then the median; the best peer is the one with the \
best median of that figure.

- Streams are those of the `tcpkali` command in go-mmproxy's README: 50 connections send `PING\\r\\n` in blocks of whole \
messages of at most 65,535 bytes, as tcpkali does, and read what comes back.
- *CPU s/GB, machine* is the processor time of the whole machine, niced programs excepted, while a gigabyte comes back; load \
and app are in it, because much of a relay's work is the kernel's and belongs to no process.
- The open loop's latencies run from the moment at which a message was meant to leave, so a stall is charged for every message that it \
held up. Its rate is half of what the best peer does in ping-pong.
- Short connections end by the load's close, and every connection of the run names another client.

";

fn conditions(results: &Results) -> String {
    let (machine, run) = (&results.machine, &results.run);
    let noisy = results
        .samples
        .iter()
        .filter(|sample| !sample.quiet)
        .count();
    let rows = [
        (
            "machine",
            format!(
                "{}, {} processors, {:.0} GiB",
                machine.processor, machine.processors, machine.memory_gib
            ),
        ),
        (
            "kernel",
            format!(
                "{}, congestion control {}",
                machine.kernel, machine.congestion
            ),
        ),
        ("date, commit", format!("{}, {}", machine.date, run.commit)),
        (
            "rounds",
            format!(
                "{} of {} s each, load on {} thread(s)",
                run.rounds, run.seconds, run.threads
            ),
        ),
        (
            "open loop",
            run.rate.map_or_else(
                || "not run".to_owned(),
                |rate| format!("{} messages/s", plain(rate)),
            ),
        ),
        ("idle connections", idle(&run.idle)),
        ("command", format!("`{}`", run.command)),
        (
            "measurements",
            format!(
                "{}; others used the processors before or during {noisy} of them",
                results.samples.len()
            ),
        ),
    ];
    let mut text = String::from("| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text
}

fn idle(counts: &[u64]) -> String {
    match counts {
        [few, many] => format!("{few} and {many}"),
        [few] => format!("{few}; more do not fit this machine's limit of descriptors"),
        _ => "not run".to_owned(),
    }
}

/// The tables alone: what is printed at the end of a run.
pub(super) fn tables(results: &Results) -> String {
    let mut text = String::new();
    for workload in Workload::ALL {
        if results
            .samples
            .iter()
            .any(|sample| sample.workload == workload.key())
        {
            text += &table(results, workload);
        }
    }
    text += &aside::calls(results);
    text + &aside::faults(results)
}

fn table(results: &Results, workload: Workload) -> String {
    let figures = workload.figures();
    let columns: Vec<_> = figures
        .iter()
        .map(|figure| (figure, rows(results, workload, *figure)))
        .collect();
    let columns: Vec<_> = columns
        .iter()
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let titles: Vec<_> = columns
        .iter()
        .map(|(figure, _)| titled(results, figure))
        .collect();
    let first = titles.first().cloned().unwrap_or_default();
    let mut text = format!(
        "\n## {}\n\n| contender | {} ",
        workload.title(),
        titles.join(" | ")
    );
    let _ = writeln!(text, "| {first}, of direct | of the best peer |");
    text += &"|---".repeat(columns.len() + 3);
    text += "|\n";
    for listed in results
        .contenders
        .iter()
        .filter(|listed| is_measured(&listed.state))
    {
        let of = |rows: &[Row]| {
            rows.iter()
                .find(|row| row.contender == listed.name)
                .cloned()
        };
        let cells = columns
            .iter()
            .map(|(_, rows)| of(rows).map_or_else(dash, |row| with_spread(&row.value)));
        let cells: Vec<_> = cells.collect();
        let row = columns.first().and_then(|(_, rows)| of(rows));
        let [direct, peer] = ratios(row.as_ref());
        let name = emphasis(&listed.name, listed.role);
        let _ = writeln!(
            text,
            "| {name} | {} | {direct} | {peer} |",
            cells.join(" | ")
        );
    }
    text + &verdicts(results, workload, figures)
}

/// A column's title, with the run's numbers in it.
fn titled(results: &Results, figure: &Figure) -> String {
    let count = |at: usize| {
        results
            .run
            .idle
            .get(at)
            .map_or_else(dash, |count| plain(*count as f64))
    };
    figure
        .title
        .replace("{few}", &count(0))
        .replace("{many}", &count(1))
}

fn ratios(row: Option<&Row>) -> [String; 2] {
    let spreads = [
        row.and_then(|row| row.of_direct),
        row.and_then(|row| row.of_best_peer),
    ];
    spreads.map(|spread| spread.map_or_else(dash, |spread| ratio(&spread)))
}

/// Ours beside the best peer, figure by figure.
fn verdicts(results: &Results, workload: Workload, figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        let Some(best) = best_peer(results, workload, *figure) else {
            continue;
        };
        let ours = rows(results, workload, *figure)
            .into_iter()
            .filter(|row| is_ours(results, &row.contender));
        let ours =
            ours.filter_map(|row| Some(format!("{} {}", row.contender, ratio(&row.of_best_peer?))));
        let ours: Vec<_> = ours.collect();
        if !ours.is_empty() {
            let _ = writeln!(
                text,
                "- {}: best peer {best}; ours ÷ its: {}",
                titled(results, figure),
                ours.join(", ")
            );
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("\n{text}")
    }
}

/// A cell of a table holds no line break and no bar.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

pub(super) fn is_measured(state: &State) -> bool {
    match state {
        State::Measured | State::MeasuredWithAnotherPort => true,
        State::Missing(_) | State::Broken(_) => false,
    }
}

pub(super) fn emphasis(name: &str, role: Role) -> String {
    match role {
        Role::Ours => format!("**{name}**"),
        Role::Direct | Role::Peer => name.to_owned(),
    }
}

fn is_ours(results: &Results, name: &str) -> bool {
    let mut named = results
        .contenders
        .iter()
        .filter(|listed| listed.name == name);
    named.any(|listed| listed.role == Role::Ours)
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
