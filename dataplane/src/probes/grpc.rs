//! `grpc.health.v1.Health/Check` without TLS, as kubelet calls it (pkg/probe/grpc).
//!
//! HTTP/2 is spoken here by ourselves: the `h2` crate would bring six crates, and the budget has room
//! for TLS alone. What one call of one method needs is small: [`call`](Call) holds it, without I/O, and
//! [`hpack`] reads header blocks.

mod call;
mod health;
mod hpack;

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::Asked;
use super::connect::{self, Deadline, connect};
use super::http::url;
use crate::connection::ladder::Apps;
use call::{Call, Question};
pub(super) use health::Health;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The app was not reached.
    #[error(transparent)]
    Connect(#[from] connect::Error),
    /// No answer in time.
    #[error("the health call to {0} did not complete within {limit:?}", limit = .1.limit)]
    TimedOut(SocketAddr, Deadline),
    /// The connection broke.
    #[error("the connection to {0} broke")]
    Io(SocketAddr, #[source] io::Error),
    /// The app answered something else than a health status.
    #[error("the health call to {0} failed")]
    Call(SocketAddr, #[source] call::Error),
}

/// Asks for the status of `service`.
pub(super) async fn check(
    service: &str,
    apps: Apps,
    asked: &Asked,
    deadline: Deadline,
) -> Result<Health, Error> {
    let (stream, address) = connect(apps, deadline).await?;
    let question = Question {
        authority: url::authority(asked.ip, address.port()),
        agent: &asked.agent,
        service,
        timeout: deadline.at.saturating_duration_since(Instant::now()),
    };
    match timeout_at(deadline.at, talk(stream, &question, address)).await {
        Ok(Err(Error::Call(_, call::Error::TimedOut))) | Err(_) => {
            Err(Error::TimedOut(address, deadline))
        }
        Ok(answer) => answer,
    }
}

async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    question: &Question<'_>,
    address: SocketAddr,
) -> Result<Health, Error> {
    let broken = |error| Error::Io(address, error);
    let failed = |error| Error::Call(address, error);
    let mut call = Call::new(question);
    let mut buffer = vec![0; 4096];
    loop {
        let output = call.output();
        stream.write_all(&output).await.map_err(broken)?;
        let n = stream.read(&mut buffer).await.map_err(broken)?;
        if n == 0 {
            return Err(failed(call.closed()));
        }
        if let Some(serving) = call.take(&buffer[..n]).map_err(failed)? {
            return Ok(serving);
        }
    }
}
