mod app;
mod args;
mod cpu;
mod load;
fn main()->anyhow::Result<()>{ use clap::Parser; let cli=args::Cli::parse(); match cli.part { Some(args::Part::Load(o))=>load::run(&o), Some(args::Part::App(o))=>app::run(&o), None=>Ok(()) } }
