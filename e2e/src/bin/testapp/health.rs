//! An app with an endpoint for each kind of probe. It is well until it is told otherwise.
//!
//! Told to fail, http and https answer 503, gRPC says `NOT_SERVING`, and the tcp port is closed;
//! told to be well, all of it is undone. Each request by http and https is a line on standard error,
//! so that a test sees what a probe or a hook asked.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http;
use crate::listen::listen;

mod grpc;
mod tls;

/// Endpoints; each may be left out.
#[derive(clap::Args)]
pub(crate) struct Health {
    /// Answers any path with 200 or 503
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// The same by TLS, with a certificate that nobody vouches for
    #[arg(long, value_name = "ADDRESS")]
    https: Option<SocketAddr>,
    /// gRPC's health service
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<SocketAddr>,
    /// Takes connections, or refuses them
    #[arg(long, value_name = "ADDRESS")]
    tcp: Option<SocketAddr>,
    /// Fail from the beginning
    #[arg(long)]
    failing: bool,
}

/// What probes are answered.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum State {
    /// All is well
    Well,
    /// Nothing is
    Failing,
}

/// Tells the first process of this container.
pub(crate) fn tell(state: State) -> anyhow::Result<()> {
    let signal = match state {
        State::Well => Signal::SIGUSR1,
        State::Failing => Signal::SIGUSR2,
    };
    kill(Pid::from_raw(1), signal).context("could not tell the container's first process")
}

/// Answers until SIGTERM.
pub(crate) async fn run(args: &Health) -> anyhow::Result<()> {
    let begin = if args.failing {
        State::Failing
    } else {
        State::Well
    };
    let (change, state) = watch::channel(begin);
    let mut well = signal(SignalKind::user_defined1())?;
    let mut failing = signal(SignalKind::user_defined2())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut serving = serve(args, &state)?;
    eprintln!("serving");
    loop {
        tokio::select! {
            _ = well.recv() => change.send_replace(State::Well),
            _ = failing.recv() => change.send_replace(State::Failing),
            _ = terminate.recv() => return Ok(()),
            Some(ended) = serving.join_next() => return ended.context("an endpoint broke")?,
        };
    }
}

fn serve(
    args: &Health,
    state: &watch::Receiver<State>,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let mut serving = JoinSet::new();
    if let Some(address) = args.http {
        let (listener, state) = (listen(address)?, state.clone());
        serving.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(answer(stream, state.clone()));
            }
        });
    }
    if let Some(address) = args.https {
        let (listener, state, acceptor) = (listen(address)?, state.clone(), tls::acceptor()?);
        serving.spawn(async move {
            loop {
                let accepting = acceptor.accept(listener.accept().await?.0);
                let state = state.clone();
                tokio::spawn(async move { answer(accepting.await?, state).await });
            }
        });
    }
    if let Some(address) = args.grpc {
        serving.spawn(grpc::serve(listen(address)?, state.clone()));
    }
    if let Some(address) = args.tcp {
        serving.spawn(take(address, state.clone()));
    }
    Ok(serving)
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    state: watch::Receiver<State>,
) -> io::Result<()> {
    let asked = http::read_head(&mut stream).await?;
    let asked: Vec<_> = asked.lines().filter(|line| !line.is_empty()).collect();
    eprintln!("asked {}", asked.join("; "));
    let status = match *state.borrow() {
        State::Well => "200 OK",
        State::Failing => "503 Service Unavailable",
    };
    stream.write_all(http::head(status, 0).as_bytes()).await?;
    stream.shutdown().await
}

/// Takes connections and closes them, as long as all is well.
async fn take(address: SocketAddr, mut state: watch::Receiver<State>) -> anyhow::Result<()> {
    loop {
        state.wait_for(|state| *state == State::Well).await?;
        let listener = listen(address)?;
        loop {
            tokio::select! {
                taken = listener.accept() => drop(taken?),
                failing = state.wait_for(|state| *state == State::Failing) => {
                    failing?;
                    break;
                }
            }
        }
    }
}
