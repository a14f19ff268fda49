//! Many clients at once, each with a request in flight at any time, and what became of each.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(15);

/// How much load, on whom.
#[derive(Clone, clap::Args)]
pub(crate) struct Load {
    /// Address or name of the app, with its port; it is asked by HTTP
    address: String,
    /// Clients at once
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Milliseconds that the app is asked to take for each answer
    #[arg(long, default_value_t = 500)]
    wait: u64,
}

/// One request.
#[derive(Debug, Serialize)]
struct Request {
    /// Milliseconds of Unix time.
    began: u128,
    /// The same.
    ended: u128,
    outcome: Outcome,
    /// The pod that answered; empty when it did not come so far.
    pod: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The whole answer came.
    Whole,
    /// Not a byte came.
    Unanswered,
    /// The answer began and did not end.
    Cut,
}

/// Asks until standard input ends, then lets every request in flight come to its end.
pub(crate) async fn run(args: Load) -> anyhow::Result<()> {
    let (stop, stopped) = watch::channel(false);
    let mut clients = JoinSet::new();
    for _ in 0..args.clients {
        clients.spawn(ask_until(args.clone(), stopped.clone()));
    }
    crate::hold::input().await;
    stop.send_replace(true);
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok(())
}

async fn ask_until(args: Load, stopped: watch::Receiver<bool>) -> anyhow::Result<()> {
    while !*stopped.borrow() {
        super::print(&ask(&args).await)?;
    }
    Ok(())
}

async fn ask(args: &Load) -> Request {
    let began = now();
    let mut answer = String::new();
    // What came before an error is what tells how far it went, so the error itself is not kept.
    let _ = timeout(LIMIT, exchange(args, &mut answer)).await;
    let (outcome, pod) = judge(&answer);
    Request {
        began,
        ended: now(),
        outcome,
        pod,
    }
}

async fn exchange(args: &Load, answer: &mut String) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(&args.address).await?;
    let request = format!(
        "GET /?wait={} HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n",
        args.wait
    );
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            count => answer.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
}

/// An answer is whole when its body is as long as its header says.
fn judge(answer: &str) -> (Outcome, String) {
    if answer.is_empty() {
        return (Outcome::Unanswered, String::new());
    }
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.and_then(|length| length.parse::<usize>().ok());
    let pod = body.lines().find_map(|line| line.strip_prefix("pod "));
    let outcome = match length == Some(body.len()) {
        true => Outcome::Whole,
        false => Outcome::Cut,
    };
    (outcome, pod.unwrap_or_default().to_owned())
}

fn now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\npeer 10.0.0.1:4242\npod app\n";

    #[test]
    fn an_answer_cut_anywhere_is_not_whole() {
        for cut in 1..WHOLE.len() {
            assert_eq!(judge(&WHOLE[..cut]).0, Outcome::Cut, "cut at {cut}");
        }
        assert_eq!(judge("").0, Outcome::Unanswered);
    }

    #[test]
    fn a_whole_answer_names_its_pod() {
        assert_eq!(judge(WHOLE), (Outcome::Whole, "app".to_owned()));
    }
}
