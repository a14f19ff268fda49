use std::collections::BTreeMap;

use super::*;
use crate::results::{Calls, Listed, Sample};

fn listed(name: &str, role: Role, state: State) -> Listed {
    Listed {
        name: name.to_owned(),
        role,
        state,
        command: format!("{name} --run"),
        ..Listed::default()
    }
}

fn sample(contender: &str, round: usize, rate: f64) -> Sample {
    Sample {
        workload: "pingpong".to_owned(),
        contender: contender.to_owned(),
        round,
        figures: BTreeMap::from([("rate".to_owned(), rate), ("p99".to_owned(), 1e6 / rate)]),
        quiet: true,
        ..Sample::default()
    }
}

/// Two rounds of three contenders, and one that is missing.
pub(crate) fn results() -> Results {
    let gone = State::Missing("403 |\nForbidden".to_owned());
    let samples = [
        ("direct", 100_000.0),
        ("ours", 70_000.0),
        ("haproxy", 50_000.0),
    ];
    let samples = samples
        .iter()
        .flat_map(|(name, rate)| [sample(name, 0, *rate), sample(name, 1, rate / 2.0)]);
    Results {
        contenders: vec![
            listed("direct", Role::Direct, State::Measured),
            listed("ours", Role::Ours, State::Measured),
            listed("haproxy", Role::Peer, State::Measured),
            listed("gone", Role::Peer, gone),
        ],
        samples: samples.collect(),
        ..Results::default()
    }
}

fn row_of(text: &str, name: &str) -> String {
    let row = text
        .lines()
        .find(|line| line.starts_with(&format!("| {name} |")));
    row.unwrap_or_else(|| panic!("no row of {name} in\n{text}"))
        .to_owned()
}

#[test]
fn a_row_has_figures_and_both_ratios() {
    let row = row_of(&tables(&results()), "**ours**");
    let want = "| **ours** | 52,500 (35,000–70,000) | 21.4 (14.3–28.6) | 0.70 (0.70–0.70) | 1.40 (1.40–1.40) |";
    assert_eq!(row, want);
}

#[test]
fn each_figure_says_who_is_the_best_peer_and_where_we_stand() {
    let text = tables(&results());
    assert!(
        text.contains("- p99, µs: best peer haproxy; ours ÷ its: ours 0.71 (0.71–0.71)"),
        "{text}"
    );
}

#[test]
fn who_is_missing_is_listed_with_the_reason_and_not_measured() {
    let text = render(&results(), "chart.svg");
    assert!(
        row_of(&text, "gone").ends_with("| missing: 403 \\| Forbidden |"),
        "{text}"
    );
    assert!(!tables(&results()).contains("gone"));
}

#[test]
fn a_measurement_with_faults_is_said_to_have_had_them() {
    let mut results = results();
    assert!(tables(&results).contains("No measurement had a fault."));
    results.samples[0].faults = BTreeMap::from([("closed".to_owned(), 3)]);
    let text = tables(&results);
    assert!(
        text.contains("| pingpong | direct | 1 | yes | closed 3 |"),
        "{text}"
    );
}

#[test]
fn a_busy_machine_is_confessed() {
    let mut results = results();
    results.samples[2].quiet = false;
    let text = render(&results, "chart.svg");
    assert!(
        text.contains("| measurements | 6; others used the processors before or during 1 of them"),
        "{text}"
    );
}

#[test]
fn system_calls_name_the_frequent_ones() {
    let mut results = results();
    let names = [("read", 6.0), ("futex", 0.01)].map(|(name, count)| (name.to_owned(), count));
    let calls = Calls {
        connections: 9,
        each: 6.01,
        names: names.to_vec(),
    };
    results.calls.insert("ours".to_owned(), calls);
    assert_eq!(
        row_of(&tables(&results), "ours"),
        "| ours | 6.0 | read 6.0 |"
    );
}
