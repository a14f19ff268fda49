//! A figure: a column of the report, and its value in what a load found.

use crate::load::Found;

/// Whether a large figure is a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    More,
    Less,
}

/// A column of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    /// Its key in the raw results.
    pub(crate) key: &'static str,
    /// `{few}` and `{many}` stand for the run's numbers of idle connections.
    pub(crate) title: &'static str,
    pub(crate) better: Better,
}

pub(crate) const fn more(key: &'static str, title: &'static str) -> Figure {
    Figure {
        key,
        title,
        better: Better::More,
    }
}

pub(crate) const fn less(key: &'static str, title: &'static str) -> Figure {
    Figure {
        key,
        title,
        better: Better::Less,
    }
}

/// The value of a figure in what a load found; None where that load has no such figure.
pub(crate) fn value(key: &str, found: &Found) -> Option<f64> {
    let seconds = Some(found.seconds).filter(|seconds| *seconds > 0.0)?;
    let mbit = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e6;
    // What a stream is for: the echo if there is one, otherwise what was sent.
    let useful = if found.received > 0 {
        found.received
    } else {
        found.sent
    };
    let per_gb = |cpu: f64| (useful > 0).then(|| cpu * 1e9 / useful as f64);
    match key {
        "rate" => Some(found.messages as f64 / seconds),
        "p50" => found.p50,
        "p99" => found.p99,
        "p999" => found.p999,
        "up" => Some(mbit(found.sent)),
        "down" => Some(mbit(found.received)),
        "cpu_per_gb" => per_gb(found.cpu.busy),
        "proxy_per_gb" => per_gb(found.cpu.watched),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Spent;

    fn found() -> Found {
        Found {
            seconds: 2.0,
            messages: 100,
            sent: 3_000_000_000,
            received: 2_000_000_000,
            cpu: Spent {
                busy: 4.0,
                watched: 1.0,
                others: 0.0,
            },
            ..Found::default()
        }
    }

    #[test]
    fn a_gigabyte_is_one_that_came_back() {
        assert_eq!(value("cpu_per_gb", &found()), Some(2.0));
        assert_eq!(value("proxy_per_gb", &found()), Some(0.5));
        assert_eq!(
            (value("up", &found()), value("down", &found())),
            (Some(12_000.0), Some(8_000.0))
        );
    }

    #[test]
    fn a_stream_to_the_app_counts_what_was_sent() {
        let up = Found {
            received: 0,
            ..found()
        };
        assert_eq!(value("proxy_per_gb", &up), Some(1.0 / 3.0));
    }
}
