//! What is measured: workloads, and the figures that each of them yields. Plain data.

use crate::load::Found;

/// A workload. The order is that of the run and of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    PingPong,
    Stream,
    Up,
    Down,
    Connect,
    ConnectMany,
    Open,
    Mixed,
    Idle,
}

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
    pub(crate) title: &'static str,
    pub(crate) better: Better,
}

/// How many connections a short-connection load has at once when it has many.
const MANY: usize = 16;

/// Small messages beside bulk: connections, bytes, streams.
const MIXED: (usize, usize, usize) = (8, 64, 4);

/// Idle connections that are held: few, then many.
pub(crate) const IDLE: [u64; 2] = [10_000, 50_000];

const fn more(key: &'static str, title: &'static str) -> Figure {
    Figure {
        key,
        title,
        better: Better::More,
    }
}

const fn less(key: &'static str, title: &'static str) -> Figure {
    Figure {
        key,
        title,
        better: Better::Less,
    }
}

const LATENCY: [Figure; 3] = [
    less("p50", "p50, µs"),
    less("p99", "p99, µs"),
    less("p999", "p99.9, µs"),
];

const PING_PONG: [Figure; 4] = [
    more("rate", "round trips/s"),
    LATENCY[0],
    LATENCY[1],
    LATENCY[2],
];
const OPEN: [Figure; 4] = [
    more("rate", "answers/s"),
    LATENCY[0],
    LATENCY[1],
    LATENCY[2],
];
const CONNECT: [Figure; 3] = [more("rate", "connections/s"), LATENCY[0], LATENCY[1]];
const CPU_PER_GB: Figure = less("cpu_per_gb", "CPU s/GB, machine");
const PROXY_PER_GB: Figure = less("proxy_per_gb", "CPU s/GB, proxy");
const STREAM: [Figure; 4] = [
    more("down", "Mbit/s echoed"),
    more("up", "Mbit/s sent"),
    CPU_PER_GB,
    PROXY_PER_GB,
];
const UP: [Figure; 3] = [more("up", "Mbit/s"), CPU_PER_GB, PROXY_PER_GB];
const DOWN: [Figure; 3] = [more("down", "Mbit/s"), CPU_PER_GB, PROXY_PER_GB];
const MIXED_FIGURES: [Figure; 4] = [
    less("p99", "p99 of the small, µs"),
    less("p50", "p50, µs"),
    more("rate", "round trips/s"),
    more("down", "Mbit/s of the streams"),
];
const IDLE_FIGURES: [Figure; 7] = [
    less("bytes_few", "bytes each, few"),
    less("bytes_many", "bytes each, many"),
    less("descriptors_few", "descriptors each"),
    less("pipes_few", "pipes, few"),
    less("pipes_many", "pipes, many"),
    more("active_few", "active beside few"),
    more("active_many", "active beside many"),
];

impl Workload {
    pub(crate) const ALL: [Self; 9] = [
        Self::PingPong,
        Self::Stream,
        Self::Up,
        Self::Down,
        Self::Connect,
        Self::ConnectMany,
        Self::Open,
        Self::Mixed,
        Self::Idle,
    ];

    /// Its name on the command line and in the raw results.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::PingPong => "pingpong",
            Self::Stream => "stream",
            Self::Up => "up",
            Self::Down => "down",
            Self::Connect => "connect",
            Self::ConnectMany => "connect-many",
            Self::Open => "open",
            Self::Mixed => "mixed",
            Self::Idle => "idle",
        }
    }

    /// What it is, in one line of the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::PingPong => "Ping-pong: 50 connections, 6 bytes, one message under way on each",
            Self::Stream => {
                "Streams: 50 connections send `PING\\r\\n` without pause and read the echo"
            }
            Self::Up => "Streams to the app: 50 connections, nothing comes back",
            Self::Down => "Streams from the app: 50 connections, nothing goes there",
            Self::Connect => {
                "Short connections, one at a time: connect, header, 6 bytes, echo, close"
            }
            Self::ConnectMany => "Short connections, 16 at a time",
            Self::Open => {
                "Open loop: 50 connections, 6 bytes, at a constant rate, from the intended time of sending"
            }
            Self::Mixed => "Fairness: 8 connections of 64-byte ping-pong beside 4 streams",
            Self::Idle => {
                "Idle connections: growth of resident memory, and ping-pong beside them ÷ without them"
            }
        }
    }

    /// Its figures; the first is the one that the chart shows.
    pub(crate) fn figures(self) -> &'static [Figure] {
        match self {
            Self::PingPong => &PING_PONG,
            Self::Stream => &STREAM,
            Self::Up => &UP,
            Self::Down => &DOWN,
            Self::Connect | Self::ConnectMany => &CONNECT,
            Self::Open => &OPEN,
            Self::Mixed => &MIXED_FIGURES,
            Self::Idle => &IDLE_FIGURES,
        }
    }

    /// Words for the load generator.
    pub(crate) fn words(self, seconds: f64, threads: usize, rate: f64) -> Vec<String> {
        let (connections, bytes, bulk) = MIXED;
        let text = match self {
            Self::PingPong | Self::Idle => format!("pingpong --threads {threads}"),
            Self::Stream => format!("stream --threads {threads}"),
            Self::Up => format!("up --threads {threads}"),
            Self::Down => format!("down --threads {threads}"),
            Self::Connect => "connect --connections 1".to_owned(),
            Self::ConnectMany => format!("connect --connections {MANY} --threads {threads}"),
            Self::Open => format!("open --rate {rate:.0} --threads {threads}"),
            Self::Mixed => {
                format!("mixed --connections {connections} --size {bytes} --bulk {bulk}")
            }
        };
        let words = text.split(' ').map(str::to_owned);
        words
            .chain(["--seconds".to_owned(), seconds.to_string()])
            .collect()
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
                niced: 0.0,
                watched: 1.0,
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

    #[test]
    fn every_key_is_a_name_of_its_own() {
        let mut keys: Vec<_> = Workload::ALL
            .iter()
            .map(|workload| workload.key())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Workload::ALL.len());
    }
}
