//! A connection that is in use all the time, to see whether anything cuts it.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Between two lines that go there and come back.
const STEP: Duration = Duration::from_millis(50);
/// For a line to come back.
const LIMIT: Duration = Duration::from_secs(5);

/// What became of it.
#[derive(Serialize)]
struct Held {
    /// Lines that came back.
    echoes: u32,
    /// The longest that one of them took, in milliseconds.
    longest: u128,
}

/// Prints `open` when the first line has come back, then holds until a line of input.
pub(crate) async fn run(address: &str) -> anyhow::Result<()> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.with_context(|| format!("could not connect to {address}"))?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    ensure!(line.starts_with("peer "), "the app said {line:?}");
    let mut held = Held {
        echoes: 0,
        longest: 0,
    };
    held.echo(&mut stream).await?;
    super::print(&"open")?;
    let end = input();
    tokio::pin!(end);
    while timeout(STEP, &mut end).await.is_err() {
        held.echo(&mut stream).await?;
    }
    super::print(&held)
}

impl Held {
    async fn echo(&mut self, stream: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
        let begin = Instant::now();
        let sent = format!("line {}\n", self.echoes);
        stream.write_all(sent.as_bytes()).await?;
        let mut line = String::new();
        let came = timeout(LIMIT, stream.read_line(&mut line)).await;
        came.with_context(|| format!("no echo of {sent:?} within {LIMIT:?}"))??;
        ensure!(line == sent, "instead of {sent:?} came {line:?}");
        self.echoes += 1;
        self.longest = self.longest.max(begin.elapsed().as_millis());
        Ok(())
    }
}

/// A line of standard input, or its end. A thread of its own: a runtime would wait for a read of
/// standard input that nobody ends.
pub(crate) async fn input() {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = tell.send(());
    });
    let _ = told.await;
}
