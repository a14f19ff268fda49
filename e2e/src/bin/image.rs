//! `image`: makes container images out of programs of this machine, without a container engine.
//!
//!     image program  --name localhost/proxyunwrap-dataplane:dev --out FILE.tar --at-most 10000000 PROGRAM
//!     image packages --name localhost/nginx:dev --out FILE.tar --entrypoint /usr/sbin/nginx nginx

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Parser};
use proxyunwrap_e2e::image::{Image, debian, program};

/// Makes a container image, without a container engine.
#[derive(Parser)]
enum Cli {
    /// An image of one static program
    Program(Program),
    /// An image of Debian packages that are installed here, with the libraries they need
    Packages(Packages),
}

#[derive(Args)]
struct Output {
    /// Name and tag of the image
    #[arg(long, value_name = "NAME:TAG")]
    name: String,
    /// Archive to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args)]
struct Program {
    #[command(flatten)]
    output: Output,
    /// Bytes that the program may have
    #[arg(long, value_name = "BYTES", default_value_t = u64::MAX)]
    at_most: u64,
    /// The static program
    program: PathBuf,
}

#[derive(Args)]
struct Packages {
    #[command(flatten)]
    output: Output,
    /// The program that the image starts
    #[arg(long, value_name = "PATH")]
    entrypoint: String,
    /// The signal that asks it to end
    #[arg(long, value_name = "SIGNAL")]
    stop_signal: Option<String>,
    /// A static program of ours to put beside the packages, in the root folder
    #[arg(long, value_name = "PROGRAM")]
    with: Option<PathBuf>,
    /// Names of the packages
    #[arg(required = true)]
    packages: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse() {
        Cli::Program(args) => {
            let image = program::image(&args.output.name, &args.program, args.at_most)?;
            write(&image, &args.output.out)
        }
        Cli::Packages(args) => {
            let image = packages(&args)?;
            write(&image, &args.output.out)
        }
    }
}

fn packages(args: &Packages) -> anyhow::Result<Image> {
    let mut image = debian::image(&args.output.name, &args.packages, &args.entrypoint)?;
    image.stop_signal.clone_from(&args.stop_signal);
    if let Some(path) = &args.with {
        let content = fs::read(path);
        let content = content.with_context(|| format!("could not read {}", path.display()))?;
        let name = Path::new(path.file_name().unwrap_or_default());
        image.layer.add_file(name, content, true);
    }
    Ok(image)
}

fn write(image: &Image, out: &Path) -> anyhow::Result<()> {
    let archive = image.to_archive()?;
    let shown = out.display();
    fs::write(out, &archive).with_context(|| format!("could not write {shown}"))?;
    eprintln!("{}  {} bytes  {shown}", image.name, archive.len());
    Ok(())
}
