//! `proxyunwrap-dataplane`: parse, run one command, turn an error into an exit code.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use proxyunwrap_dataplane::args::{self, Cli, Command, Init};
use proxyunwrap_dataplane::config::Config;
use proxyunwrap_dataplane::routes::{self, Redirect};
use proxyunwrap_dataplane::{drain, serve};
use tracing::level_filters::LevelFilter;

fn main() -> ExitCode {
    let cli = Cli::parse_from(args::normalised(env::args_os()));
    start_log();
    match cli.command {
        Command::Serve(serve) => exit(serve::run(&serve).map_err(anyhow::Error::from), 1),
        Command::Init(init) => prepare(init),
        Command::Drain(ask) => exit(drain::drain(ask.admin, ask.wait).map_err(Into::into), 1),
    }
}

/// Diagnosis goes to standard error; standard output is the access log's.
fn start_log() {
    let level = env::var("PROXYUNWRAP_LOG")
        .ok()
        .and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .with_max_level(level.unwrap_or(LevelFilter::INFO))
        .with_writer(io::stderr)
        .with_target(false)
        .with_ansi(false)
        .init();
}

fn prepare(init: Init) -> ExitCode {
    let mut options = init.options;
    match init.config.map(|path| redirects(&path)).transpose() {
        Ok(redirects) => options.redirects.extend(redirects.into_iter().flatten()),
        Err(error) => return exit(Err(error), 2),
    }
    match routes::init(&options) {
        Ok(report) => {
            for line in report.lines {
                let _ = writeln!(io::stdout(), "{line}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            let code = error.exit_code();
            exit(Err(error.into()), code)
        }
    }
}

fn redirects(path: &std::path::Path) -> anyhow::Result<Vec<Redirect>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the configuration {}", path.display()))?;
    let config = Config::parse(&text).with_context(|| path.display().to_string())?;
    let pairs = config.redirects().into_iter();
    Ok(pairs
        .map(|(port, listen)| Redirect { port, listen })
        .collect())
}

/// Prints the whole chain of an error once, as the last line: `kubectl describe` shows it.
fn exit(result: anyhow::Result<()>, code: u8) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error:#}");
            ExitCode::from(code)
        }
    }
}
