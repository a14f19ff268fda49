//! Requests that a client pod makes again and again, and what became of each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use kube::api::AttachedProcess;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinHandle;

use super::Pod;
use super::wait::until;

const LIMIT: Duration = Duration::from_secs(30);

/// Load that is on until it is stopped.
pub struct Load {
    process: AttachedProcess,
    requests: Arc<Mutex<Vec<Request>>>,
    reader: JoinHandle<anyhow::Result<()>>,
}

/// One request.
#[derive(Debug, Clone, Deserialize)]
pub struct Request {
    /// Milliseconds of Unix time.
    pub began: u64,
    /// The same.
    pub ended: u64,
    /// `whole`, `cut` or `unanswered`.
    pub outcome: String,
    /// The pod that answered; empty when it did not come so far.
    pub pod: String,
}

impl Load {
    /// Reads all the time: a client whose output nobody takes stands still.
    pub(super) fn of(mut process: AttachedProcess) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (output, kept) = (process.stdout(), Arc::clone(&requests));
        let reader = tokio::spawn(async move {
            let mut lines = BufReader::new(output.context("no output")?).lines();
            while let Some(line) = lines.next_line().await? {
                let request = serde_json::from_str(&line)?;
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(request);
            }
            Ok(())
        });
        Self {
            process,
            requests,
            reader,
        }
    }

    /// Requests that have ended so far.
    fn so_far(&self) -> Vec<Request> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until each of these pods has answered once.
    ///
    /// # Errors
    /// One has not within half a minute.
    pub async fn answered_by(&self, pods: &[Pod]) -> anyhow::Result<()> {
        for pod in pods {
            let name = pod.name();
            until(&format!("{name} answers"), LIMIT, async || {
                let requests = self.so_far();
                match requests.iter().any(|request| request.pod == name) {
                    true => Ok(()),
                    false => bail!("{} requests, none answered by it", requests.len()),
                }
            })
            .await?;
        }
        Ok(())
    }

    /// Lets what is in flight come to its end, and answers every request there was.
    ///
    /// # Errors
    /// The client's end got lost.
    pub async fn stop(mut self) -> anyhow::Result<Vec<Request>> {
        let mut input = self.process.stdin().context("no input")?;
        input.write_all(b"stop\n").await?;
        self.reader.await??;
        let requests = self.requests.lock();
        Ok(requests.unwrap_or_else(PoisonError::into_inner).clone())
    }
}
