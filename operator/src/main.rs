//! `proxyunwrap-operator`: parse, run one command, turn an error into an exit code.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use proxyunwrap_operator::args::{Check, Cli, Command, Run};
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::{check, crds, run};
use tracing::level_filters::LevelFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    match cli.command {
        Command::Run(args) => exit(run(&args), 1),
        Command::Crds => exit(crds(), 1),
        Command::Check(args) => exit(check(&args), 1),
        Command::CheckConfig { file } => exit(check_config(&file), 2),
    }
}

/// Diagnosis goes to standard error.
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

fn run(args: &Run) -> anyhow::Result<()> {
    let settings = Settings::read(&args.config, &args.namespace);
    let settings = settings.with_context(|| args.config.display().to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("could not start")?;
    runtime.block_on(run::run(args, settings))?;
    // A watch that waits for its server has nothing to say any more.
    runtime.shutdown_background();
    Ok(())
}

fn crds() -> anyhow::Result<()> {
    write!(io::stdout(), "{}", crds::yaml()?)?;
    Ok(())
}

fn check(args: &Check) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start")?;
    runtime.block_on(async {
        let client = kube::Client::try_default().await;
        let client = client.context("could not reach a cluster")?;
        check::check(client, &args.namespace, args.patience.0).await?;
        writeln!(
            io::stdout(),
            "a pod in namespace {} would get its sidecar",
            args.namespace
        )?;
        Ok(())
    })
}

/// Our own namespace makes no difference to what is right or wrong.
fn check_config(file: &Path) -> anyhow::Result<()> {
    Settings::read(file, "").with_context(|| file.display().to_string())?;
    Ok(())
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
