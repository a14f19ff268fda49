//! The load generator: raw non-blocking sockets and epoll, one thread for each `--threads`, nothing
//! allocated for a message.
//!
//! Every connection names a client that no other connection of a run has, so none meets another's
//! 4-tuple in TIME_WAIT. What it finds it prints as one line of JSON; faults are counted there.

mod ask;
mod connect;
mod dialer;
mod header;
mod histogram;
mod idle;
mod open;
mod options;
mod pingpong;
mod poller;
mod stream;
mod tally;
mod window;

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

pub(crate) use self::ask::Asked;
pub(crate) use self::dialer::PING;
pub(crate) use self::header::Header;
pub(crate) use self::idle::HELD;
pub(crate) use self::options::{Options, Way};
pub(crate) use self::stream::BLOCK;

use self::dialer::Dialer;
use self::options::Mode;
use self::tally::Tally;
use self::window::{Gate, Window};
use crate::cpu::{Cpu, Spent};

/// What a run found, as it is printed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Found {
    /// Length of the measured part.
    pub(crate) seconds: f64,
    /// Messages or connections that had their answer.
    pub(crate) messages: u64,
    /// Bytes that the kernel took from us.
    pub(crate) sent: u64,
    /// Bytes that came back.
    pub(crate) received: u64,
    /// Latencies in microseconds: of half, of 99 %, of 99.9 % of all messages.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) p999: Option<f64>,
    /// Clients named.
    pub(crate) clients: u64,
    /// Processor time in the measured part.
    pub(crate) cpu: Spent,
    /// How often what went wrong.
    pub(crate) faults: BTreeMap<String, u64>,
}

/// What one thread is to do.
#[derive(Clone, Debug)]
struct Task {
    kind: Kind,
    connections: usize,
    size: usize,
    rate: f64,
    flow: Flow,
    dialer: Dialer,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    PingPong,
    Stream,
    Connect,
    Open,
}

/// Which way a stream's bytes go.
#[derive(Clone, Copy, Debug)]
enum Flow {
    Both,
    Up,
    Down,
}

/// A load in two steps: what must not be measured, and what is.
trait Load: Sized {
    /// Opens what has to be open before.
    fn prepare(task: Task) -> anyhow::Result<Self>;
    /// Offers the load until the window ends.
    fn run(self, window: Window) -> Tally;
}

/// Asks the app whom it sees on a connection like those of a load, and prints that.
///
/// # Errors
/// When there is no answer.
pub(crate) fn ask(way: &Way) -> anyhow::Result<()> {
    let line = serde_json::to_string(&ask::ask(Dialer::new(way, 0, 1))?)?;
    writeln!(std::io::stdout(), "{line}").context("nobody reads the answer")
}

/// Offers the load and prints what it found.
///
/// # Errors
/// When the load could not be offered at all.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let found = match options.mode {
        Mode::Idle => found(
            &idle::hold(task(options, Kind::PingPong, 0, 1))?,
            Spent::default(),
        ),
        _ => offer(options)?,
    };
    let line = serde_json::to_string(&found)?;
    writeln!(std::io::stdout(), "{line}").context("nobody reads what was found")
}

fn offer(options: &Options) -> anyhow::Result<Found> {
    let tasks = tasks(options);
    let seconds =
        |seconds| Duration::try_from_secs_f64(seconds).context("a length is not negative");
    let (warm_up, length) = (seconds(options.warm_up)?, seconds(options.seconds)?);
    let gate = Gate::new(tasks.len() + 1, warm_up, length);
    let watch = &options.watch;
    let own = [options.own.as_slice(), &[me()]].concat();
    thread::scope(|scope| {
        let started = tasks
            .into_iter()
            .map(|task| scope.spawn(|| carry_out(task, &gate)));
        let threads: Vec<_> = started.collect();
        let spent = spent_in(gate.pass(), watch, &own);
        let mut all = Tally::default();
        for thread in threads {
            let tally = thread
                .join()
                .map_err(|_| anyhow!("a thread of the load panicked"))?;
            all.merge(&tally?);
        }
        Ok(found(&all, spent?))
    })
}

fn carry_out(task: Task, gate: &Gate) -> anyhow::Result<Tally> {
    match task.kind {
        Kind::PingPong => both_steps::<pingpong::PingPong>(task, gate),
        Kind::Stream => both_steps::<stream::Stream>(task, gate),
        Kind::Connect => both_steps::<connect::Connect>(task, gate),
        Kind::Open => both_steps::<open::Open>(task, gate),
    }
}

/// Passes the gate even if nothing could be prepared: the other threads wait there.
fn both_steps<L: Load>(task: Task, gate: &Gate) -> anyhow::Result<Tally> {
    let prepared = L::prepare(task);
    let window = gate.pass();
    Ok(prepared?.run(window))
}

/// Waits for the window's borders, and compares what the processors had done by then.
fn spent_in(window: Window, watch: &[i32], own: &[i32]) -> anyhow::Result<Spent> {
    park_until(window.begin);
    let before = Cpu::read(watch, own)?;
    park_until(window.end);
    Ok(Cpu::read(watch, own)?.since(&before))
}

fn me() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn park_until(moment: Instant) {
    while let Some(left) = moment.checked_duration_since(Instant::now()) {
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

fn tasks(options: &Options) -> Vec<Task> {
    let kind = match options.mode {
        Mode::Pingpong | Mode::Idle => Kind::PingPong,
        Mode::Stream | Mode::Up | Mode::Down => Kind::Stream,
        Mode::Connect => Kind::Connect,
        Mode::Open => Kind::Open,
        Mode::Mixed => {
            let bulk = Task {
                connections: options.bulk,
                ..task(options, Kind::Stream, 1, 2)
            };
            return vec![task(options, Kind::PingPong, 0, 2), bulk];
        }
    };
    let threads = options.threads.clamp(1, options.connections.max(1));
    let part = |at| Task {
        connections: share(options.connections, at, threads),
        rate: options.rate / threads as f64,
        ..task(options, kind, at, threads)
    };
    (0..threads).map(part).collect()
}

/// The `at`th of `parts` shares, as even as they can be.
fn share(whole: usize, at: usize, parts: usize) -> usize {
    whole / parts + usize::from(at < whole % parts)
}

fn task(options: &Options, kind: Kind, at: usize, stride: usize) -> Task {
    Task {
        kind,
        connections: options.connections,
        size: options.size,
        rate: options.rate,
        flow: match options.mode {
            Mode::Up => Flow::Up,
            Mode::Down => Flow::Down,
            _ => Flow::Both,
        },
        dialer: Dialer::new(&options.way, at as u64, stride as u64),
    }
}

fn found(tally: &Tally, cpu: Spent) -> Found {
    Found {
        seconds: tally.seconds,
        messages: tally.messages,
        sent: tally.sent,
        received: tally.received,
        p50: tally.latency.quantile(0.5),
        p99: tally.latency.quantile(0.99),
        p999: tally.latency.quantile(0.999),
        clients: tally.clients,
        cpu,
        faults: tally.faults(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_differ_by_one_and_add_up() {
        let shares: Vec<_> = (0..3).map(|at| share(50, at, 3)).collect();
        assert_eq!(shares, [17, 17, 16]);
    }
}
