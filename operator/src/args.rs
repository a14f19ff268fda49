//! What was typed: commands, flags, environment. Nothing is decided here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use proxyunwrap_api::values::Span;

/// Watches ProxyUnwrap resources and annotated pods and Services, and injects the dataplane.
#[derive(Debug, Parser)]
#[command(name = "proxyunwrap-operator", version, about, long_about = None)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the webhook, and keep what is running if this replica leads
    Run(Run),
    /// Print the CustomResourceDefinition as YAML
    Crds,
    /// Ask the API server for an annotated pod, as a dry run: would it get its sidecar?
    Check(Check),
    /// Say what is wrong with a settings file, or nothing
    CheckConfig {
        /// The file
        file: PathBuf,
    },
}

/// `run`.
#[derive(Args, Debug)]
pub struct Run {
    /// Settings, as the chart writes them
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Our namespace: Secret, Lease and Service are there, and no pod of it is injected
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: String,
    /// Name of this replica's pod; no other replica has it
    #[arg(long, env = "POD_NAME")]
    pub name: String,
    /// Address of the webhook
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8443")]
    pub webhook: SocketAddr,
    /// Address of /livez, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    pub admin: SocketAddr,
}

/// `check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Where the pod would be: a namespace that is served, and where we may create pods
    #[arg(long, default_value = "default")]
    pub namespace: String,
    /// How long an operator may take to come up
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub patience: Span,
}
