//! `proxyunwrap-bench`: ProxyUnwrap beside its peers on this machine, in one run. `make bench` calls it.
//!
//! A connection of a run goes from the load generator ([`load`]) in a balancer's namespace over a cable to a
//! contender ([`contender`]) in a pod's, and from there to the app ([`app`]) behind it. [`run`] measures all
//! of them in interleaved rounds, [`statistics`] says what the samples mean, [`report`] writes it down.
//!
//! It must run as root for its namespaces, touches nothing outside of them, and leaves nothing behind.

mod app;
mod args;
mod contender;
mod cpu;
mod figure;
mod interrupt;
mod load;
mod machine;
mod report;
mod results;
mod rig;
mod run;
mod statistics;
mod workload;

use clap::Parser;

use self::args::{Cli, Part};

/// Does what the command line says: the whole run, or one of its parts.
///
/// # Errors
/// When that fails; the chain says what was done.
pub fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match &cli.part {
        Some(Part::Load(options)) => load::run(options),
        Some(Part::Ask(way)) => load::ask(way),
        Some(Part::App(options)) => app::run(options),
        None => run::run(&cli.run),
    }
}
