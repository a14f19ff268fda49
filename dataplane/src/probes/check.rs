//! One check of the app: the question, the time-out, and what kubelet is told.

use std::time::Duration;

use hyper::StatusCode;
use tokio::time::Instant;

use super::connect::{self, Deadline, connect};
use super::grpc::{self, Health};
use super::http::{self, Answer};
use super::spec::{Action, Key, Probe, Request};
use super::{Asked, ProbeResult, Verdict};
use crate::connection::ladder::Apps;

/// Why kubelet is told that the app is not well.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Connect(#[from] connect::Error),
    #[error(transparent)]
    Http(#[from] http::Error),
    #[error(transparent)]
    Grpc(#[from] grpc::Error),
    #[error("the app says that the service is {0}")]
    NotServing(Health),
    #[error("the app answers with status {0}, which no answer may have")]
    Status(u16),
}

/// Checks the app once; takes no longer than the probe's time-out.
pub(super) async fn run(key: &Key, probe: &Probe, asked: &Asked) -> Verdict {
    let deadline = deadline(probe.timeout);
    let verdict = match &probe.action {
        Action::Http(request) => http(key, request, probe.apps, asked, deadline).await,
        Action::Tcp => tcp(probe.apps, deadline).await,
        Action::Grpc(service) => grpc(service, probe.apps, asked, deadline).await,
    };
    verdict.unwrap_or_else(|error| refused(key, error))
}

/// A limit beyond the clock's range ends with the longest that tokio can wait.
fn deadline(limit: Duration) -> Deadline {
    const LONG: Duration = Duration::from_secs(86_400 * 365);
    let at = Instant::now() + limit.min(LONG);
    Deadline { at, limit }
}

async fn http(
    key: &Key,
    request: &Request,
    apps: Apps,
    asked: &Asked,
    deadline: Deadline,
) -> Result<Verdict, Error> {
    let answer = match http::get(request, apps, asked, deadline).await {
        // So kubelet does for hooks: it was long that it ignored their scheme.
        Err(error) if key.kind.is_hook() && error.is_plain() => {
            http::get(&request.plain(), apps, asked, deadline).await?
        }
        answer => answer?,
    };
    passed_on(&answer)
}

/// The app's own status and body. Not its Location: kubelet would follow it, and to another host it
/// does not.
fn passed_on(answer: &Answer) -> Result<Verdict, Error> {
    let status = StatusCode::from_u16(answer.status)
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or(Error::Status(answer.status))?;
    let well = status.is_success() || status.is_redirection();
    Ok(Verdict {
        result: match well {
            true => ProbeResult::Success,
            false => ProbeResult::Failure,
        },
        status,
        body: String::from_utf8_lossy(&answer.body).into_owned(),
        answered: true,
    })
}

async fn tcp(apps: Apps, deadline: Deadline) -> Result<Verdict, Error> {
    let (_, address) = connect(apps, deadline).await?;
    Ok(well(format!("{address} takes connections\n")))
}

async fn grpc(
    service: &str,
    apps: Apps,
    asked: &Asked,
    deadline: Deadline,
) -> Result<Verdict, Error> {
    match grpc::check(service, apps, asked, deadline).await? {
        Health::Serving => Ok(well("SERVING\n".to_owned())),
        serving => Err(Error::NotServing(serving)),
    }
}

fn well(body: String) -> Verdict {
    Verdict {
        result: ProbeResult::Success,
        status: StatusCode::OK,
        body,
        answered: true,
    }
}

fn refused(key: &Key, error: Error) -> Verdict {
    let result = error.result();
    let error = anyhow::Error::from(error);
    Verdict {
        result,
        status: StatusCode::SERVICE_UNAVAILABLE,
        body: format!("probe {key}: {error:#}\n"),
        answered: false,
    }
}

impl Error {
    fn result(&self) -> ProbeResult {
        match self {
            Self::Connect(error)
            | Self::Http(http::Error::Connect(error))
            | Self::Grpc(grpc::Error::Connect(error)) => match error {
                connect::Error::Unreachable(_) => ProbeResult::Unreachable,
                connect::Error::TimedOut { .. } => ProbeResult::Timeout,
            },
            Self::Http(http::Error::TimedOut(..)) | Self::Grpc(grpc::Error::TimedOut(..)) => {
                ProbeResult::Timeout
            }
            Self::Http(_) | Self::Grpc(_) | Self::NotServing(_) | Self::Status(_) => {
                ProbeResult::Failure
            }
        }
    }
}
