//! From samples to what is said of them: medians, spread, ratios round by round.

use std::collections::BTreeMap;

use crate::figure::{Better, Figure};
use crate::results::{Results, Role, Sample};
use crate::workload::Workload;

/// A median, and how far the rounds lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) rounds: usize,
}

/// One contender's figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) contender: String,
    pub(crate) value: Spread,
    /// Divided by direct's of the same round.
    pub(crate) of_direct: Option<Spread>,
    /// Divided by the best peer's of the same round.
    pub(crate) of_best_peer: Option<Spread>,
}

/// The middle and the ends; None of nothing.
pub(crate) fn spread(values: &[f64]) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    };
    Some(Spread {
        median,
        least,
        most,
        rounds: sorted.len(),
    })
}

/// The figure of every contender that has it, in the order of the list.
pub(crate) fn rows(results: &Results, workload: Workload, figure: Figure) -> Vec<Row> {
    let of = |name: &str| by_round(&results.samples, workload, figure.key, name);
    let direct = results
        .contenders
        .iter()
        .find(|listed| listed.role == Role::Direct);
    let direct = direct.map(|listed| of(&listed.name)).unwrap_or_default();
    let best = best_peer(results, workload, figure)
        .map(|name| of(&name))
        .unwrap_or_default();
    let names = results.contenders.iter().map(|listed| listed.name.clone());
    names
        .filter_map(|contender| {
            let values = of(&contender);
            let value = spread(&values.values().copied().collect::<Vec<_>>())?;
            Some(Row {
                contender,
                value,
                of_direct: ratio(&values, &direct),
                of_best_peer: ratio(&values, &best),
            })
        })
        .collect()
}

/// The peer whose median is best.
pub(crate) fn best_peer(results: &Results, workload: Workload, figure: Figure) -> Option<String> {
    let peers = results
        .contenders
        .iter()
        .filter(|listed| listed.role == Role::Peer);
    let medians = peers.filter_map(|listed| {
        let values = by_round(&results.samples, workload, figure.key, &listed.name);
        let median = spread(&values.into_values().collect::<Vec<_>>())?.median;
        Some((listed.name.clone(), median))
    });
    let ordered = |left: &(String, f64), right: &(String, f64)| match figure.better {
        Better::More => left.1.total_cmp(&right.1),
        Better::Less => right.1.total_cmp(&left.1),
    };
    medians.max_by(ordered).map(|(name, _)| name)
}

/// A figure of one contender in each round.
fn by_round(samples: &[Sample], workload: Workload, key: &str, name: &str) -> BTreeMap<usize, f64> {
    let own = samples.iter().filter(|sample| sample.contender == name);
    let own = own.filter(|sample| sample.workload == workload.key());
    own.filter_map(|sample| Some((sample.round, *sample.figures.get(key)?)))
        .collect()
}

fn ratio(values: &BTreeMap<usize, f64>, to: &BTreeMap<usize, f64>) -> Option<Spread> {
    let pairs = values
        .iter()
        .filter_map(|(round, value)| Some((value, to.get(round)?)));
    let ratios: Vec<_> = pairs
        .filter(|(_, to)| **to > 0.0)
        .map(|(value, to)| value / to)
        .collect();
    spread(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Listed;

    fn listed(name: &str, role: Role) -> Listed {
        Listed {
            name: name.to_owned(),
            role,
            ..Listed::default()
        }
    }

    fn sample(contender: &str, round: usize, rate: f64) -> Sample {
        Sample {
            workload: "pingpong".to_owned(),
            contender: contender.to_owned(),
            round,
            figures: BTreeMap::from([("rate".to_owned(), rate)]),
            ..Sample::default()
        }
    }

    /// A machine that slows down by half in the second round.
    fn results() -> Results {
        let contenders = vec![
            listed("direct", Role::Direct),
            listed("ours", Role::Ours),
            listed("slow", Role::Peer),
            listed("fast", Role::Peer),
        ];
        let rounds = [(0, 1.0), (1, 0.5), (2, 1.0)];
        let of = |name: &'static str, rate: f64| {
            rounds.map(|(round, share)| sample(name, round, rate * share))
        };
        let samples = [
            of("direct", 100.0),
            of("ours", 70.0),
            of("slow", 40.0),
            of("fast", 50.0),
        ]
        .concat();
        Results {
            contenders,
            samples,
            ..Results::default()
        }
    }

    fn rate() -> Figure {
        Workload::PingPong.figures()[0]
    }

    #[test]
    fn an_even_number_has_its_median_between() {
        let spread = spread(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 4.0));
        assert_eq!(super::spread(&[]), None);
    }

    #[test]
    fn ratios_are_of_one_round_so_a_slow_round_does_not_show() {
        let rows = rows(&results(), Workload::PingPong, rate());
        let ours = rows.iter().find(|row| row.contender == "ours").unwrap();
        assert_eq!((ours.value.least, ours.value.most), (35.0, 70.0));
        let of_direct = ours.of_direct.unwrap();
        assert_eq!((of_direct.least, of_direct.most), (0.7, 0.7));
        assert_eq!(ours.of_best_peer.unwrap().median, 1.4);
    }

    #[test]
    fn the_best_peer_is_the_fastest_or_the_quickest() {
        let best = |better| best_peer(&results(), Workload::PingPong, Figure { better, ..rate() });
        assert_eq!(best(Better::More).as_deref(), Some("fast"));
        assert_eq!(best(Better::Less).as_deref(), Some("slow"));
    }

    #[test]
    fn who_was_not_measured_has_no_row() {
        let mut results = results();
        results.contenders.push(listed("missing", Role::Peer));
        let rows = rows(&results, Workload::PingPong, rate());
        assert_eq!(rows.len(), 4);
    }
}
