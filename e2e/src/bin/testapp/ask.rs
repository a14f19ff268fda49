//! A client that asks an app once who it saw.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(5);

/// Whom to ask, and how.
#[derive(clap::Args)]
pub(crate) struct Ask {
    /// Address or name of the app, with its port
    address: String,
    /// Ask by HTTP instead of echo
    #[arg(long)]
    http: bool,
}

/// What both sides say about one connection.
#[derive(Serialize)]
pub(crate) struct Answer {
    /// Our own end.
    local: SocketAddr,
    /// Whom we dialled.
    remote: SocketAddr,
    /// Who the app says we are.
    reported: SocketAddr,
}

/// Connects, reads who the app says we are, and has bytes go both ways.
pub(crate) async fn run(args: &Ask) -> anyhow::Result<Answer> {
    let asked = timeout(LIMIT, ask(args)).await;
    asked.with_context(|| format!("no answer of {} within {LIMIT:?}", args.address))?
}

async fn ask(args: &Ask) -> anyhow::Result<Answer> {
    let stream = TcpStream::connect(&args.address).await;
    let stream = stream.with_context(|| format!("could not connect to {}", args.address))?;
    let (local, remote) = (stream.local_addr()?, stream.peer_addr()?);
    let line = if args.http {
        by_http(stream).await?
    } else {
        by_echo(stream).await?
    };
    let reported = line.trim_end().strip_prefix("peer ");
    let reported = reported
        .with_context(|| format!("the app said {line:?}"))?
        .parse()?;
    Ok(Answer {
        local,
        remote,
        reported,
    })
}

/// The app speaks first; then a line goes there and comes back.
async fn by_echo(stream: TcpStream) -> anyhow::Result<String> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut echoed) = (String::new(), String::new());
    stream.read_line(&mut line).await?;
    stream.write_all(b"hello\n").await?;
    stream.read_line(&mut echoed).await?;
    ensure!(
        echoed == "hello\n",
        "instead of an echo came {echoed:?} after {line:?}"
    );
    Ok(line)
}

async fn by_http(mut stream: TcpStream) -> anyhow::Result<String> {
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n")
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let Some((_, body)) = answer.split_once("\r\n\r\n") else {
        bail!("the app answered {answer:?}");
    };
    Ok(body.lines().next().unwrap_or_default().to_owned())
}

/// The addresses of a name, as the pod's resolver finds them.
pub(crate) async fn resolve(name: &str) -> anyhow::Result<Vec<String>> {
    let found = tokio::net::lookup_host((name, 0)).await;
    let found = found.with_context(|| format!("could not resolve {name}"))?;
    let mut addresses: Vec<_> = found.map(|address| address.ip().to_string()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}
