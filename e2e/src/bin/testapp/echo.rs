//! An app that knows nothing of the PROXY protocol and says who its peer is.
//!
//! By TCP it speaks first, one line `peer ADDRESS:PORT`, then echoes. By HTTP it answers any GET
//! with the same line and its pod's name; `?wait=MILLISECONDS` sends the second half of the answer
//! so much later, so that a request is in flight for a known time.

use std::net::SocketAddr;
use std::time::Duration;
use std::{env, io};

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::http;
use crate::listen::listen;

/// Where to listen. Without any address it waits for SIGTERM: a pod to run other commands in.
#[derive(clap::Args)]
pub(crate) struct Echo {
    /// Says the peer, then echoes; `[::]:PORT` is IPv6 alone
    #[arg(long, value_name = "ADDRESS")]
    tcp: Vec<SocketAddr>,
    /// Says the peer by HTTP
    #[arg(long, value_name = "ADDRESS")]
    http: Vec<SocketAddr>,
}

#[derive(Clone, Copy)]
enum Speaks {
    Echo,
    Http,
}

/// Serves until SIGTERM; then stops accepting and answers what it has accepted.
pub(crate) async fn run(args: &Echo) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    // Each connection holds a sender: when the last one is dropped, all is answered.
    let (open, mut all_answered) = mpsc::channel::<()>(1);
    let mut accepting = Vec::new();
    let tcp = args.tcp.iter().map(|address| (address, Speaks::Echo));
    let http = args.http.iter().map(|address| (address, Speaks::Http));
    for (address, speaks) in tcp.chain(http) {
        let listener = listen(*address)?;
        accepting.push(tokio::spawn(accept(listener, speaks, open.clone())));
    }
    drop(open);
    eprintln!("serving");
    terminate.recv().await;
    for task in accepting {
        task.abort();
        let _ = task.await;
    }
    eprintln!("asked to end: answering what is open");
    all_answered.recv().await;
    eprintln!("ended");
    Ok(())
}

async fn accept(listener: TcpListener, speaks: Speaks, open: mpsc::Sender<()>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let open = open.clone();
        tokio::spawn(async move {
            let done = match speaks {
                Speaks::Echo => echo(stream, peer).await,
                Speaks::Http => answer(stream, peer).await,
            };
            if let Err(error) = done {
                eprintln!("{peer}: {error}");
            }
            drop(open);
        });
    }
}

async fn echo(mut stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    eprintln!("peer {peer}");
    stream
        .write_all(format!("peer {peer}\n").as_bytes())
        .await?;
    let (mut from, mut to) = stream.split();
    tokio::io::copy(&mut from, &mut to).await?;
    to.shutdown().await
}

async fn answer(mut stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    let wait = wait_of(&http::read_head(&mut stream).await?);
    let pod = env::var("HOSTNAME").unwrap_or_default();
    let (first, second) = (format!("peer {peer}\npod {pod}\n"), "whole\n");
    let head = http::head("200 OK", first.len() + second.len());
    stream
        .write_all(format!("{head}{first}").as_bytes())
        .await?;
    tokio::time::sleep(wait).await;
    stream.write_all(second.as_bytes()).await?;
    stream.shutdown().await
}

fn wait_of(request: &str) -> Duration {
    let (_, rest) = request.split_once("?wait=").unwrap_or_default();
    let digits = rest.split(' ').next().unwrap_or_default();
    Duration::from_millis(digits.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_read_off_the_request_line() {
        assert_eq!(
            wait_of("GET /?wait=1500 HTTP/1.1\r\n"),
            Duration::from_millis(1500)
        );
        assert_eq!(wait_of("GET / HTTP/1.1\r\n"), Duration::ZERO);
    }
}
