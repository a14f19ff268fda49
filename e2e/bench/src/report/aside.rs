//! What belongs to no workload: system calls, and what went wrong.

use std::fmt::Write;

use super::markdown::one_line;
use crate::results::Results;

pub(super) fn calls(results: &Results) -> String {
    if results.calls.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## System calls of a short connection\n\nCounted by `strace -f -c` in a run of its own, one connection at a time.\n\n\
         | contender | each | which |\n|---|---|---|\n",
    );
    for (name, calls) in &results.calls {
        let often = calls.names.iter().filter(|(_, count)| *count >= 0.05);
        let which: Vec<_> = often
            .map(|(name, count)| format!("{name} {count:.1}"))
            .collect();
        let _ = writeln!(
            text,
            "| {name} | {:.1} | {} |",
            calls.each,
            which.join(", ")
        );
    }
    text
}

/// A run with errors is not silently a result.
pub(super) fn faults(results: &Results) -> String {
    let faulty: Vec<_> = results
        .samples
        .iter()
        .filter(|sample| !sample.faults.is_empty())
        .collect();
    if faulty.is_empty() {
        return "\nNo measurement had a fault.\n".to_owned();
    }
    let mut text = String::from(
        "\n## Faults\n\nA measurement with more than one fault in a thousand messages has no figures.\n\n\
         | workload | contender | round | counted | faults |\n|---|---|---|---|---|\n",
    );
    for sample in faulty {
        let faults = sample
            .faults
            .iter()
            .map(|(name, count)| format!("{name} {count}"));
        let faults = one_line(&faults.collect::<Vec<_>>().join(", "));
        let counted = if sample.figures.is_empty() {
            "no"
        } else {
            "yes"
        };
        let (workload, contender, round) = (&sample.workload, &sample.contender, sample.round + 1);
        let _ = writeln!(
            text,
            "| {workload} | {contender} | {round} | {counted} | {faults} |"
        );
    }
    text
}
