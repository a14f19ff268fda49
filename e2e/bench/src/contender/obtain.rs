//! Where a contender's program comes from: its registry by the documented command, or Debian.
//!
//! What is installed stays in the user's cache. One that cannot be had is missing, with the reason: it
//! is listed, not dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::recipe::Kind;
use crate::rig::namespace::output;

/// A program that can be started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    /// The command that installed it.
    pub(crate) source: String,
}

/// Finds or installs the program of a peer.
///
/// # Errors
/// When it cannot be had.
pub(crate) fn peer(kind: &Kind) -> anyhow::Result<Program> {
    match kind {
        Kind::GoMmproxy => go("path-network").or_else(|error| debian_archive("go-mmproxy", &error)),
        Kind::KzemekGoMmproxy => go("kzemek"),
        Kind::MmproxyRs => mmproxy_rs(),
        Kind::Haproxy => debian("haproxy", "haproxy", "-v"),
        Kind::Nginx => debian("nginx-light libnginx-mod-stream", "nginx", "-v"),
        Kind::Direct | Kind::Ours { .. } => bail!("not a peer"),
    }
}

fn go(owner: &str) -> anyhow::Result<Program> {
    let folder = cache(&format!("{owner}-go-mmproxy"))?;
    let module = format!("github.com/{owner}/go-mmproxy@latest");
    let program = folder.join("go-mmproxy");
    if !program.exists() {
        output(
            Command::new("go")
                .args(["install", &module])
                .env("GOBIN", &folder),
        )?;
    }
    let built = output(Command::new("go").args(["version", "-m"]).arg(&program))?;
    Ok(Program {
        version: module_version(&built),
        source: format!("go install {module}"),
        path: program,
    })
}

/// `go version -m`: the compiler in the first line, the module in the one that begins with `mod`.
fn module_version(built: &str) -> String {
    let compiler = built
        .lines()
        .next()
        .and_then(|line| line.rsplit(' ').next());
    let module = built
        .lines()
        .find_map(|line| line.trim().strip_prefix("mod\t"));
    let version = module.and_then(|line| line.split('\t').nth(1));
    [version, compiler]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Unpacked, not installed: this machine's packages stay as they are. `otherwise` is why it is wanted.
fn debian_archive(package: &str, otherwise: &anyhow::Error) -> anyhow::Result<Program> {
    let folder = cache(&format!("debian-{package}"))?;
    let program = folder.join("usr/bin").join(package);
    if !program.exists() {
        let mut download = Command::new("apt-get");
        download.args(["download", package]).current_dir(&folder);
        output(&mut download).with_context(|| format!("{otherwise:#}; and from Debian"))?;
        output(
            Command::new("dpkg-deb")
                .arg("-x")
                .arg(archive_in(&folder)?)
                .arg(&folder),
        )?;
    }
    let archive = archive_in(&folder)?;
    let version = output(
        Command::new("dpkg-deb")
            .arg("-f")
            .arg(archive)
            .arg("Version"),
    )?;
    let built = output(Command::new("go").arg("version").arg(&program)).unwrap_or_default();
    Ok(Program {
        path: program,
        version: format!("{} of Debian, {}", version.trim(), module_version(&built)),
        source: format!("apt-get download {package}, because {otherwise:#}"),
    })
}

fn archive_in(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let archive = entries
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "deb"));
    archive.context("apt-get left no archive")
}

/// With the lock file that it was released with: newer dependencies do not compile.
fn mmproxy_rs() -> anyhow::Result<Program> {
    let folder = cache("mmproxy-rs")?;
    let program = folder.join("bin/mmproxy");
    if !program.exists() {
        let mut install = Command::new("cargo");
        install
            .args(["install", "mmproxy", "--locked", "--root"])
            .arg(&folder);
        output(&mut install)?;
    }
    let installed = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
    Ok(Program {
        path: program,
        version: crate_version(&installed, "mmproxy"),
        source: "cargo install mmproxy --locked".to_owned(),
    })
}

/// `.crates.toml` has lines such as `"mmproxy 0.2.2 (registry+…)" = ["mmproxy"]`.
fn crate_version(installed: &str, name: &str) -> String {
    let line = installed
        .lines()
        .find_map(|line| line.strip_prefix(&format!("\"{name} ")));
    let version = line.and_then(|line| line.split(' ').next());
    version.unwrap_or("unknown").to_owned()
}

fn debian(packages: &str, program: &str, flag: &str) -> anyhow::Result<Program> {
    let run = Command::new(program).arg(flag).output();
    let run = run.with_context(|| format!("{program} is not here: apt-get install {packages}"))?;
    // nginx says its version on standard error.
    let said = [run.stdout, run.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().next().unwrap_or_default();
    Ok(Program {
        path: PathBuf::from(program),
        version: line.trim_end_matches(" - https://haproxy.org/").to_owned(),
        source: format!("apt-get install {packages}"),
    })
}

/// `~/.cache/proxyunwrap/bench/KEY`.
fn cache(key: &str) -> anyhow::Result<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    let folder = base.context("neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = folder.join("proxyunwrap/bench").join(key);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_go_program_says_which_module_it_is() {
        let built = "/x/go-mmproxy: go1.26.8\n\tpath\tgithub.com/a/b\n\tmod\tgithub.com/a/b\tv0.0.0-2023\th1:x=\n";
        assert_eq!(module_version(built), "v0.0.0-2023, go1.26.8");
    }

    #[test]
    fn cargo_remembers_what_it_installed() {
        let installed = "[v1]\n\"mmproxy 0.2.2 (registry+https://x)\" = [\"mmproxy\"]\n";
        assert_eq!(crate_version(installed, "mmproxy"), "0.2.2");
        assert_eq!(crate_version(installed, "other"), "unknown");
    }
}
