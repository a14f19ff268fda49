//! A connection that a client pod keeps in use.

use std::time::Duration;

use anyhow::{Context, ensure};
use kube::api::AttachedProcess;
use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(15);

/// It is open, and something goes there and comes back twenty times a second.
pub struct Held {
    process: AttachedProcess,
    output: Box<dyn AsyncBufRead + Send + Unpin>,
    errors: Box<dyn AsyncRead + Send + Unpin>,
}

/// What became of it.
#[derive(Debug, Deserialize)]
pub struct Kept {
    /// Lines that came back.
    pub echoes: u32,
    /// The longest that one of them took, in milliseconds.
    pub longest: u64,
}

impl Held {
    /// Waits until the first line has come back.
    pub(super) async fn of(mut process: AttachedProcess) -> anyhow::Result<Self> {
        let output = process.stdout().context("no output")?;
        let errors = process.stderr().context("no errors")?;
        let mut held = Self {
            process,
            output: Box::new(BufReader::new(output)),
            errors: Box::new(errors),
        };
        let line = held.line().await?;
        ensure!(line == "\"open\"\n", "instead of open: {line:?}");
        Ok(held)
    }

    /// Closes it.
    ///
    /// # Errors
    /// It was cut before; the error says how.
    pub async fn close(mut self) -> anyhow::Result<Kept> {
        // A client whose connection was cut has ended, and tells below why.
        if let Some(mut input) = self.process.stdin() {
            let _ = input.write_all(b"close\n").await;
        }
        Ok(serde_json::from_str(&self.line().await?)?)
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let came = timeout(LIMIT, self.output.read_line(&mut line)).await;
        came.context("the client says nothing")??;
        if line.is_empty() {
            let mut said = String::new();
            let _ = timeout(LIMIT, self.errors.read_to_string(&mut said)).await;
            anyhow::bail!("the connection was cut: {}", said.trim_end());
        }
        Ok(line)
    }
}
