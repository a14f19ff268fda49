//! The `serve` command: start, reload, drain.
//!
//! Workers carry the connections; this thread does what is not hot. It ends with 0 when what was
//! open has finished, or was cut at the drain deadline.

mod notice;
mod service;
mod signals;
mod source;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, thread};

use tokio::runtime::Builder;

use crate::access_log::AccessLog;
use crate::admin::{self, Shown};
use crate::args::Serve;
use crate::config::Config;
use crate::connection::claim::Own;
use crate::engine::socket::Dialling;
use crate::engine::{self, Engine, Relay, Setup};
use crate::health::{self, Health};
use crate::limits::{self, Machine};
use crate::metrics::Process;
use crate::privileges;
use crate::probes::{Probes, spec};
use crate::routes::SourceMode;
use service::Service;
pub use source::Source;

/// Why `serve` could not start, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// kubelet's probes.
    #[error(transparent)]
    Probes(#[from] spec::Error),
    /// Probes that nobody could ask for.
    #[error(
        "--probes: there is no admin port to answer on; leave `admin.listen` out, or give --admin with go-mmproxy's flags"
    )]
    NoAdmin,
    /// An engine that cannot be had.
    #[error(transparent)]
    Refused(#[from] engine::Refused),
    /// Listeners or workers.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Capabilities.
    #[error(transparent)]
    Privileges(#[from] privileges::Error),
    /// The admin port.
    #[error("could not listen on the admin port {0:?}")]
    Admin(Vec<SocketAddr>, #[source] io::Error),
    /// Threads, signals, the runtime.
    #[error("could not start")]
    Start(#[source] io::Error),
}

/// What stays the same from start to end.
struct Fixed {
    machine: Machine,
    workers: usize,
    mode: SourceMode,
    relay: Relay,
    ipv6: bool,
}

/// Runs until a signal ends it.
///
/// # Errors
/// What keeps it from starting; nothing that happens later is one.
pub fn run(args: &Serve) -> Result<(), Error> {
    let mut source = Source::new(args)?;
    let config = source.load()?;
    let probes = probes(args, &config)?;
    if args.check {
        let probes = probes.len();
        tracing::info!(
            ports = config.ports.len(),
            probes,
            "the configuration is good"
        );
        return Ok(());
    }
    let fixed = Fixed::new(&config, args.relay);
    let own = Arc::new(health::own_addresses());
    let setup = fixed.setup(&config, &own);
    // Listening comes before giving up privileges: a port below 1024 may need them.
    let listeners = engine::open(&setup, fixed.workers)?;
    let addresses = config.file.admin.listen.addresses(fixed.ipv6);
    let admin = admin::listen(&addresses).map_err(|error| Error::Admin(addresses, error))?;
    privileges::reduce(&privileges::needed(fixed.mode, config.file.mark))?;
    // What we may do without privileges decides.
    let kind = engine::choose(args.engine)?;
    let (log, writer) = AccessLog::start(io::stdout()).map_err(Error::Start)?;
    let engine = Engine::start(kind, args.scheduling, &setup, listeners, &log)?;
    // Only workers hold the log from here on: it ends with the last of them.
    drop(log);
    let health = Arc::new(Health::default());
    let shown = Arc::new(shown(&engine, &health, fixed.mode, probes));
    let service = Service {
        source,
        fixed,
        config,
        own,
        engine,
        health,
        shown,
    };
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Start)?;
    runtime.block_on(service.run(admin)).map_err(Error::Start)?;
    writer.finish();
    // A self-test that still waits for its packets has nothing to say any more.
    runtime.shutdown_background();
    Ok(())
}

/// Read at start only: a pod's probes never change.
fn probes(args: &Serve, config: &Config) -> Result<Probes, Error> {
    let written = args.probes.as_deref().map(spec::parse).transpose()?;
    let probes = Probes::new(written.unwrap_or_default());
    match config.file.admin.listen.addresses(true).is_empty() && !probes.is_empty() {
        true => Err(Error::NoAdmin),
        false => Ok(probes),
    }
}

fn shown(engine: &Engine, health: &Arc<Health>, mode: SourceMode, probes: Probes) -> Shown {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let process = Process {
        started: started.as_secs_f64(),
        source_mode: mode.name(),
        engine: engine.kind().name(),
        ..Process::default()
    };
    Shown {
        health: Arc::clone(health),
        counters: engine.counters(),
        lister: engine.lister(),
        probes: Arc::new(probes),
        process: Mutex::new(process),
        config: Mutex::new(String::new()),
    }
}

impl Fixed {
    fn new(config: &Config, relay: Relay) -> Self {
        let available = || thread::available_parallelism().map_or(1, usize::from);
        Self {
            machine: Machine::read(),
            workers: config.file.workers.unwrap_or_else(available),
            mode: health::source_mode(config.file.source_mode),
            relay,
            ipv6: health::has_ipv6(),
        }
    }

    fn setup(&self, config: &Config, own: &Arc<Own>) -> Arc<Setup> {
        let ports = config.ports.iter();
        Arc::new(Setup {
            ports: ports
                .map(|port| (Arc::clone(port), port.listen.addresses(self.ipv6)))
                .collect(),
            dialling: Dialling {
                mode: self.mode,
                mark: config.file.mark,
            },
            relay: self.relay,
            own: Arc::clone(own),
            limits: limits::for_worker(&config.file.limits, self.machine, self.workers),
            log: config.file.access_log.mode,
            log_tlvs: config.file.access_log.tlvs.clone(),
        })
    }
}
