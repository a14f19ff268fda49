//! `testapp`: the one program of ours that stands in pods of the tests, as app, as client and as
//! eyes on a node. What it finds it prints as JSON; what fails it says on standard error, and ends
//! with 1.

mod ask;
mod echo;
mod health;
mod hold;
mod http;
mod listen;
mod load;
mod node;

use std::process::ExitCode;

use clap::Parser;

/// App, client and eyes of the end-to-end tests.
#[derive(Parser)]
enum Cli {
    /// An app: says who its peer is, by echo or by HTTP; ends on SIGTERM when it has answered
    Echo(echo::Echo),
    /// An app with endpoints for probes, which can be told to fail by `tell`
    Health(health::Health),
    /// Tells the `health` app of this container what to answer to probes from now on
    Tell {
        /// What
        #[arg(value_enum)]
        state: health::State,
    },
    /// A client: asks an app once who it saw, and prints that beside the own address
    Ask(ask::Ask),
    /// Many clients: asks again and again until standard input ends; one JSON line a request
    Load(load::Load),
    /// A client that keeps one connection in use until a line comes on standard input
    Hold {
        /// Address or name of an echo app, with its port
        address: String,
    },
    /// Prints the addresses of a name
    Resolve {
        /// The name to look up
        name: String,
    },
    /// Looks at containers of the node (in a privileged pod with hostPID)
    #[command(subcommand)]
    Node(node::Node),
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Cli) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Cli::Echo(args) => echo::run(&args).await,
            Cli::Health(args) => health::run(&args).await,
            Cli::Tell { state } => health::tell(state),
            Cli::Hold { address } => hold::run(&address).await,
            Cli::Ask(args) => print(&ask::run(&args).await?),
            Cli::Load(args) => load::run(args).await,
            Cli::Resolve { name } => print(&ask::resolve(&name).await?),
            Cli::Node(command) => node::run(&command),
        }
    })
}

#[expect(clippy::print_stdout, reason = "what a command finds is its output")]
fn print(found: &impl serde::Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(found)?);
    Ok(())
}
