//! What is measured: workloads, and the figures that each of them yields. Plain data.

use crate::figure::{Figure, less, more};

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

/// How many connections a short-connection load has at once when it has many.
const MANY: usize = 16;

/// Small messages beside bulk: connections, bytes, streams.
const MIXED: (usize, usize, usize) = (8, 64, 4);

/// Idle connections that are held: few, then many.
pub(crate) const IDLE: [u64; 2] = [10_000, 50_000];

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
const IDLE_FIGURES: [Figure; 9] = [
    less("bytes_few", "bytes each, {few}"),
    less("bytes_many", "bytes each, {many}"),
    less("descriptors_few", "descriptors each"),
    less("pipes_few", "pipes, {few}"),
    less("pipes_many", "pipes, {many}"),
    more("held_few", "held of {few}"),
    more("held_many", "held of {many}"),
    more("active_few", "ping-pong beside {few}"),
    more("active_many", "ping-pong beside {many}"),
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

#[cfg(test)]
mod tests {
    use super::*;

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
