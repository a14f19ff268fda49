//! What was typed. Nothing is decided here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{app, load};

/// ProxyUnwrap beside its peers on this machine, in one run.
#[derive(Debug, Parser)]
#[command(
    name = "proxyunwrap-bench",
    version,
    about,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) part: Option<Part>,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Parts of a run, each a process of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    /// Offer a load to one address and print what it found
    Load(load::Options),
    /// Ask the app whom it sees
    Ask(load::Way),
    /// Be the app
    App(app::Options),
}

/// A run: every contender, every workload, in rounds.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// Rounds: each measures every contender once
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// Workloads, without it all
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Contenders, without it all; a part of a name that ends at a dash names several
    #[arg(long, value_delimiter = ',')]
    pub(crate) contenders: Vec<String>,
    /// Our program; several compare builds: --dataplane old=PATH --dataplane new=PATH
    #[arg(
        long,
        value_name = "[NAME=]PATH",
        default_value = "target/release/proxyunwrap-dataplane"
    )]
    pub(crate) dataplane: Vec<String>,
    /// Header that connections begin with
    #[arg(long, value_enum, default_value = "v1")]
    pub(crate) header: load::Header,
    /// Threads of the load generator; without it half of the processors
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Messages a second of the open loop; without it half of what the best peer does in ping-pong
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Seconds that each measurement waits for others to leave the processors
    #[arg(long, default_value_t = 3.0)]
    pub(crate) patience: f64,
    /// Where table and chart go
    #[arg(long, default_value = "target/bench")]
    pub(crate) docs: PathBuf,
    /// Where the raw results go
    #[arg(long, default_value = "target/bench/results.json")]
    pub(crate) raw: PathBuf,
    /// Write table and chart from these raw results, and measure nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
}
