//! The engine: workers that carry connections, and the handle that steers them.
//!
//! Each worker is a thread with its own listeners, connections, deadlines and counters. Nothing is
//! shared on a connection's path; orders come through a mailbox that wakes the worker.

mod backend;
mod carry;
mod choice;
mod epoll;
mod event;
mod fellows;
mod listener;
mod mailbox;
mod orders;
mod pace;
mod pipes;
mod places;
mod relay;
mod scheduling;
pub mod socket;
mod strangers;
mod uring;
mod wheel;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use crate::access_log::{AccessLog, Tlv};
use crate::config::Port;
use crate::config::file::AccessLogMode;
use crate::connection::claim::Own;
use crate::counters::Counters;
pub use choice::{Choice, Kind, Refused, choose};
use fellows::{Fellow, Fellows};
use mailbox::{Mailbox, Order};
pub use pace::Relay;
pub use scheduling::Scheduling;
use socket::Dialling;

/// How long an answer to [`Lister::list`] may take; a worker's turn is far shorter.
const ANSWER: Duration = Duration::from_secs(2);

/// What workers serve; replaced as a whole.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The ports with the addresses to listen on.
    pub ports: Vec<(Arc<Port>, Vec<SocketAddr>)>,
    /// How the app is dialled.
    pub dialling: Dialling,
    /// Which way bytes take.
    pub relay: Relay,
    /// Addresses of this namespace.
    pub own: Arc<Own>,
    /// Limits for one worker.
    pub limits: Limits,
    /// Which connections are logged.
    pub log: AccessLogMode,
    /// Which TLVs are logged.
    pub log_tlvs: Vec<Tlv>,
}

/// Limits for one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections.
    pub open: usize,
    /// Of these, without a header.
    pub pending: usize,
}

/// An open connection, for `/connections`.
#[derive(Debug, Serialize)]
pub struct Open {
    /// Name of its port.
    #[serde(serialize_with = "text")]
    pub port: Arc<str>,
    /// Who opened it.
    pub peer: SocketAddr,
    /// Whom the app sees.
    pub client: Option<SocketAddr>,
    /// `header`, `dial` or `relay`.
    pub stage: &'static str,
    /// Since accept, in milliseconds.
    pub age_ms: u64,
    /// Payload bytes so far.
    pub bytes_to_app: u64,
    /// Payload bytes so far.
    pub bytes_to_client: u64,
}

fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// The running workers.
pub struct Engine {
    kind: Kind,
    mailboxes: Vec<Arc<Mailbox>>,
    counters: Vec<Arc<Counters>>,
    /// Addresses that workers listen on.
    listening: Vec<SocketAddr>,
    /// Goes when the last worker has ended.
    ended: tokio::sync::mpsc::Receiver<()>,
}

/// Why workers cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error("port {port}: could not listen on {address}")]
    Listen {
        /// Name of the port.
        port: String,
        /// The address.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// No thread, no eventfd, no epoll or io_uring.
    #[error("could not start worker {index}")]
    Worker {
        /// Counted from 0.
        index: usize,
        /// What the kernel says.
        source: io::Error,
    },
}

impl Engine {
    /// Starts a worker of this kind for each set of listeners.
    ///
    /// # Errors
    /// The first worker that cannot be had.
    pub fn start(
        kind: Kind,
        scheduling: Scheduling,
        setup: &Arc<Setup>,
        listeners: Vec<Opened>,
        log: &AccessLog,
    ) -> Result<Self, Error> {
        let (done, ended) = tokio::sync::mpsc::channel(1);
        let mut engine = Self {
            kind,
            mailboxes: Vec::new(),
            counters: Vec::new(),
            listening: setup.addresses(),
            ended,
        };
        let mut starts = Vec::new();
        let workers = (0..listeners.len())
            .map(|index| Fellow::new().map_err(|source| Error::Worker { index, source }));
        let workers: Vec<_> = workers.collect::<Result<_, _>>()?;
        for (index, opened) in listeners.into_iter().enumerate() {
            let failed = |source| Error::Worker { index, source };
            let Fellow { mailbox, counters } = workers[index].clone();
            let _ = mailbox.send(Order::Setup(Arc::clone(setup), opened));
            let worker = worker::Parts {
                mailbox: Arc::clone(&mailbox),
                counters: Arc::clone(&counters),
                fellows: Fellows::of(&workers, index),
                log: log.clone(),
                _done: done.clone(),
                epoch: Instant::now(),
            };
            let (started, start) = channel();
            thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || {
                    scheduling.take();
                    match kind {
                        Kind::Epoll => worker::run::<epoll::Readiness>(worker, &started),
                        Kind::IoUring => worker::run::<uring::Completions>(worker, &started),
                    }
                })
                .map_err(failed)?;
            engine.mailboxes.push(mailbox);
            engine.counters.push(counters);
            starts.push(start);
        }
        for (index, start) in starts.into_iter().enumerate() {
            let lost = || Err(io::ErrorKind::BrokenPipe.into());
            let start = start.recv().unwrap_or_else(|_| lost());
            start.map_err(|source| Error::Worker { index, source })?;
        }
        Ok(engine)
    }

    /// Serves `setup` from now on. Listeners of addresses that stay are not touched, so nothing
    /// that waits in their backlogs is lost.
    ///
    /// # Errors
    /// A listener that cannot be had; then everything stays as it was.
    pub fn serve(&mut self, setup: &Arc<Setup>) -> Result<(), Error> {
        let opened = open_except(setup, self.mailboxes.len(), &self.listening)?;
        self.listening = setup.addresses();
        for (mailbox, opened) in self.mailboxes.iter().zip(opened) {
            // A worker that has ended serves nothing more.
            let _ = mailbox.send(Order::Setup(Arc::clone(setup), opened));
        }
        Ok(())
    }

    /// How the kernel is asked.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Counters of every worker, for the metrics.
    pub fn counters(&self) -> Vec<Arc<Counters>> {
        self.counters.clone()
    }

    /// Stops accepting; open connections go on.
    pub fn drain(&self) {
        self.order(|| Order::Drain);
    }

    /// Cuts what is open.
    pub fn cut(&self) {
        self.order(|| Order::Cut);
    }

    /// Waits until every worker has ended, after `drain` or `cut`.
    pub async fn ended(&mut self) {
        let _ = self.ended.recv().await;
    }

    /// A handle that lists open connections from any thread.
    pub fn lister(&self) -> Lister {
        Lister {
            mailboxes: self.mailboxes.clone(),
        }
    }

    fn order(&self, order: impl Fn() -> Order) {
        for mailbox in &self.mailboxes {
            // One that has ended has nothing left to drain or to cut.
            let _ = mailbox.send(order());
        }
    }
}

/// Listeners of one worker, with their addresses.
pub type Opened = Vec<(SocketAddr, OwnedFd)>;

/// Opens every address of `setup`, once for each worker.
///
/// # Errors
/// The first address that cannot be listened on.
pub fn open(setup: &Setup, workers: usize) -> Result<Vec<Opened>, Error> {
    open_except(setup, workers, &[])
}

/// All listeners exist before one is used, so that an address in use is noticed while nothing has
/// changed yet.
fn open_except(setup: &Setup, workers: usize, known: &[SocketAddr]) -> Result<Vec<Opened>, Error> {
    let mut all: Vec<Opened> = (0..workers).map(|_| Vec::new()).collect();
    let new = || {
        setup
            .listening()
            .filter(|(_, address)| !known.contains(address))
    };
    for (port, address) in new() {
        for opened in &mut all {
            let listener = socket::listen(address).map_err(|source| Error::Listen {
                port: port.name.to_string(),
                address,
                source,
            })?;
            opened.push((address, listener));
        }
    }
    Ok(all)
}

impl Setup {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.listening().map(|(_, address)| address).collect()
    }

    fn listening(&self) -> impl Iterator<Item = (&Arc<Port>, SocketAddr)> {
        self.ports
            .iter()
            .flat_map(|(port, at)| at.iter().map(move |address| (port, *address)))
    }
}

/// Lists open connections.
#[derive(Clone)]
pub struct Lister {
    mailboxes: Vec<Arc<Mailbox>>,
}

impl Lister {
    /// Everything that is open now. Blocks for as long as the busiest worker's turn.
    pub fn list(&self) -> Vec<Open> {
        let (answers, open) = channel();
        for mailbox in &self.mailboxes {
            // One that has ended has nothing open.
            let _ = mailbox.send(Order::List(answers.clone()));
        }
        drop(answers);
        std::iter::from_fn(|| open.recv_timeout(ANSWER).ok())
            .flatten()
            .collect()
    }
}
