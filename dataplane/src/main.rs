//! `proxyunwrap-dataplane`: parse, run one command, turn an error into an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use proxyunwrap_dataplane::routes;

#[derive(Parser)]
enum Command {
    /// Prepare the pod's network namespace
    Init(routes::Options),
}

fn main() -> ExitCode {
    let Command::Init(options) = Command::parse();
    match routes::init(&options) {
        Ok(report) => {
            for line in report.lines {
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            let code = error.exit_code();
            let _ = writeln!(std::io::stderr(), "{:#}", anyhow::Error::from(error));
            ExitCode::from(code)
        }
    }
}
