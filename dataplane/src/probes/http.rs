//! The GET of a probe, as kubelet would have sent it (pkg/probe/http of Kubernetes 1.36).
//!
//! It is sent over loopback to the app, with the Host that kubelet would have named: the address of
//! the pod that kubelet asked, with the app's port. Redirects to that same host are followed, others
//! are answers. Nothing that the asker says reaches the app, but for kubelet's own version.

mod answer;
pub(super) mod url;

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout_at;

use super::connect::{self, Deadline, connect};
use super::spec::Request;
use super::{Asked, tls};
use crate::config::values::App;
use crate::connection::ladder::Apps;
pub(super) use answer::Answer;
use answer::Reader;
use url::{Next, Url};

/// Requests for one check; Go's client gives up at the tenth redirect.
const REQUESTS: usize = 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The app was not reached.
    #[error(transparent)]
    Connect(#[from] connect::Error),
    /// No whole answer in time.
    #[error("{0} gave no whole answer within {limit:?}", limit = .1.limit)]
    TimedOut(SocketAddr, Deadline),
    /// TLS.
    #[error("{0} and we could not agree on TLS")]
    Tls(SocketAddr, #[source] io::Error),
    /// The connection broke.
    #[error("the connection to {0} broke")]
    Io(SocketAddr, #[source] io::Error),
    /// Not HTTP, or not whole.
    #[error("{0} does not answer as HTTP asks")]
    Answer(SocketAddr, #[source] answer::Error),
    /// A location that cannot be read.
    #[error("{0} redirects to {1:?}, which is no address")]
    Location(SocketAddr, String),
    /// Too many redirects.
    #[error("{0} redirects without end; {REQUESTS} requests were enough")]
    Redirects(SocketAddr),
}

/// Sends the request, follows redirects within the app, and answers the last answer.
pub(super) async fn get(
    request: &Request,
    apps: Apps,
    asked: &Asked,
    deadline: Deadline,
) -> Result<Answer, Error> {
    let port = port(apps, asked);
    let mut url = Url::new(request.tls, asked.ip, port, &request.target);
    let mut host = request.host.as_deref();
    let mut requests = 0;
    loop {
        let to = if url.port == port {
            apps
        } else {
            App::Port(url.port).apps().unwrap_or(apps)
        };
        let text = text(request, &url, host, asked);
        let (answer, address) = exchange(&text, &url, to, deadline).await?;
        requests += 1;
        let Some(location) = redirect(&answer) else {
            return Ok(answer);
        };
        match url.follow(location) {
            Next::Elsewhere => return Ok(answer),
            Next::Unreadable => return Err(Error::Location(address, location.to_owned())),
            Next::Here { .. } if requests == REQUESTS => return Err(Error::Redirects(address)),
            Next::Here {
                url: next,
                absolute,
            } => {
                url = next;
                // Go's client keeps a Host of its own only where the location names none.
                host = host.filter(|_| !absolute);
            }
        }
    }
}

/// The port that kubelet would have asked, for the family that it asked.
fn port(apps: Apps, asked: &Asked) -> u16 {
    let (four, six) = (apps.ipv4.map(|at| at.port()), apps.ipv6.map(|at| at.port()));
    let port = if asked.ip.is_ipv4() {
        four.or(six)
    } else {
        six.or(four)
    };
    port.unwrap_or_default()
}

fn redirect(answer: &Answer) -> Option<&str> {
    let location = answer.location.as_deref()?;
    let redirects = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
    (redirects && !location.is_empty()).then_some(location)
}

fn text(request: &Request, url: &Url, host: Option<&str>, asked: &Asked) -> String {
    let host = host.unwrap_or(&url.authority);
    let mut text = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n", url.target);
    let agent = request.agent.as_deref().unwrap_or(&asked.agent);
    if !agent.is_empty() {
        text.push_str(&format!("User-Agent: {agent}\r\n"));
    }
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {}\r\n", value.trim()));
    }
    text.push_str("Connection: close\r\n\r\n");
    text
}

async fn exchange(
    text: &str,
    url: &Url,
    apps: Apps,
    deadline: Deadline,
) -> Result<(Answer, SocketAddr), Error> {
    let (stream, address) = connect(apps, deadline).await?;
    let talk = async {
        if url.tls {
            let shaken = tls::handshake(stream, url.ip).await;
            talk(
                shaken.map_err(|error| Error::Tls(address, error))?,
                text,
                address,
            )
            .await
        } else {
            talk(stream, text, address).await
        }
    };
    match timeout_at(deadline.at, talk).await {
        Ok(answer) => Ok((answer?, address)),
        Err(_) => Err(Error::TimedOut(address, deadline)),
    }
}

async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    text: &str,
    address: SocketAddr,
) -> Result<Answer, Error> {
    let broken = |error| Error::Io(address, error);
    let refused = |error| Error::Answer(address, error);
    stream.write_all(text.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    let mut reader = Reader::default();
    let mut buffer = vec![0; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => break reader.close().map_err(refused)?,
            Ok(n) if reader.take(&buffer[..n]).map_err(refused)? => break,
            Ok(_) => {}
            // TLS without a word of farewell, which Go's client takes for an end, too.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                break reader.close().map_err(refused)?;
            }
            Err(error) => return Err(broken(error)),
        }
    }
    Ok(reader.into_answer())
}

impl Error {
    /// Whether TLS was spoken to an app that speaks plain HTTP.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Tls(_, error) => tls::is_plain(error),
            Self::Connect(_)
            | Self::TimedOut(..)
            | Self::Io(..)
            | Self::Answer(..)
            | Self::Location(..)
            | Self::Redirects(_) => false,
        }
    }
}

impl Request {
    /// The same without TLS, and without the Authorization that was meant for TLS.
    pub(super) fn plain(&self) -> Self {
        let mut plain = self.clone();
        plain.tls = false;
        plain
            .headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        plain
    }
}
