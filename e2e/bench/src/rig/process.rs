//! Programs in the background: each ends with its value, and keeps what it wrote for the report.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::namespace::{Namespace, output};
use super::{family, wait};

/// How long a program may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long one may take to end: none has connections then.
const FAREWELL: Duration = Duration::from_secs(3);

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; `log` gets what it writes.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let out =
            File::create(log).with_context(|| format!("could not write {}", log.display()))?;
        let err = out.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        Ok(Self {
            child: child.context("does not start")?,
            log: log.to_owned(),
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// Waits until something inside `namespace` listens on the port.
    ///
    /// # Errors
    /// When the program ends instead, or takes too long.
    pub(crate) fn listens(&mut self, namespace: &Namespace, port: u16) -> anyhow::Result<()> {
        let what = format!("listens on {port}");
        let heard = wait::until(&what, PATIENCE, || {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}: {}", last_lines(&self.log));
            }
            let filter = format!("sport = :{port}");
            let found = output(namespace.command("ss").args(["-Hltn", &filter]))?;
            Ok((!found.trim().is_empty()).then_some(()))
        });
        heard.with_context(|| last_lines(&self.log))
    }

    /// Asks it to end with `signal`; who does not is killed, children included.
    pub(crate) fn end(&mut self, signal: Signal) {
        let family = family::pids(self.pid());
        let _ = kill(Pid::from_raw(self.pid()), signal);
        let ended = wait::until("the program ends", FAREWELL, || {
            Ok(self.child.try_wait()?)
        });
        if ended.is_err() {
            for pid in family {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = self.child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
