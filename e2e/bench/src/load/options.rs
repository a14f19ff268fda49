//! The load generator's command line.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::dialer::PING;
use super::header::Header;

/// What the connections do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// One message under way on each connection: rate and latency.
    Pingpong,
    /// Every connection sends without pause and reads the echo.
    Stream,
    /// The same, to an app that only reads.
    Up,
    /// The same, from an app that only sends.
    Down,
    /// Connect, header, message, echo, close; `--connections` at once.
    Connect,
    /// Messages at a constant rate, late or not.
    Open,
    /// Connections that are held open until standard input ends.
    Idle,
    /// Ping-pong beside `--bulk` streams on a thread of their own.
    Mixed,
}

/// Where connections go, and whom they come from.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Way {
    /// Where to
    #[arg(long)]
    pub(crate) to: SocketAddrV4,
    /// What each connection begins with
    #[arg(long, value_enum, default_value = "v1")]
    pub(crate) header: Header,
    /// First address that connections come from
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) source: Ipv4Addr,
    /// How many addresses they come from
    #[arg(long, default_value_t = 1)]
    pub(crate) sources: u32,
    /// Number of the first client, so that no run names those of another
    #[arg(long, default_value_t = 0)]
    pub(crate) first_client: u64,
}

/// The load to offer.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// What the connections do
    #[arg(value_enum)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) way: Way,
    /// Connections, or connections at once
    #[arg(long, default_value_t = 50)]
    pub(crate) connections: usize,
    /// Bytes of a ping-pong's message
    #[arg(long, default_value_t = PING.len())]
    pub(crate) size: usize,
    /// Streams beside a mixed load
    #[arg(long, default_value_t = 4)]
    pub(crate) bulk: usize,
    /// Messages a second of an open loop
    #[arg(long, default_value_t = 10_000.0)]
    pub(crate) rate: f64,
    /// Length of the measured part
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// What precedes it
    #[arg(long, default_value_t = 0.3)]
    pub(crate) warm_up: f64,
    /// Threads that share the connections
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Processes whose processor time is wanted, too
    #[arg(long, value_delimiter = ',')]
    pub(crate) watch: Vec<i32>,
    /// Other processes of the run, which disturb nobody
    #[arg(long, value_delimiter = ',')]
    pub(crate) own: Vec<i32>,
}
