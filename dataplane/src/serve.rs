//! The `serve` command: start, reload, drain.
//!
//! Workers carry the connections; this thread does what is not hot. It ends with 0 when what was
//! open has finished, or was cut at the drain deadline.

mod source;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, thread};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::access_log::AccessLog;
use crate::admin::{self, Shown};
use crate::args::Serve;
use crate::config::{self, Config};
use crate::connection::claim::Own;
use crate::engine::socket::Dialling;
use crate::engine::{self, Engine, Setup};
use crate::health::{self, Health};
use crate::limits::{self, Machine};
use crate::metrics::Process;
use crate::privileges;
use crate::routes::SourceMode;
pub use source::Source;

/// How often the configuration file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long workers may take to cut what is open: their turn is far shorter.
const CUT: Duration = Duration::from_secs(2);

/// Why `serve` could not start, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Source(#[from] source::Error),
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
    ipv6: bool,
}

/// The running service.
struct Service {
    source: Source,
    fixed: Fixed,
    config: Config,
    own: Arc<Own>,
    engine: Engine,
    health: Arc<Health>,
    shown: Arc<Shown>,
}

/// Runs until a signal ends it.
///
/// # Errors
/// What keeps it from starting; nothing that happens later is one.
pub fn run(args: &Serve) -> Result<(), Error> {
    let mut source = Source::new(args)?;
    let config = source.load()?;
    if args.check {
        tracing::info!(ports = config.ports.len(), "the configuration is good");
        return Ok(());
    }
    let fixed = Fixed::new(&config);
    let own = Arc::new(health::own_addresses());
    let setup = fixed.setup(&config, &own);
    // Listening comes before giving up privileges: a port below 1024 may need them.
    let listeners = engine::open(&setup, fixed.workers)?;
    let addresses = config.file.admin.listen.addresses(fixed.ipv6);
    let admin = admin::listen(&addresses).map_err(|error| Error::Admin(addresses, error))?;
    privileges::reduce(&privileges::needed(fixed.mode, config.file.mark))?;
    let (log, writer) = AccessLog::start(io::stdout()).map_err(Error::Start)?;
    let engine = Engine::start(&setup, listeners, &log)?;
    // Only workers hold the log from here on: it ends with the last of them.
    drop(log);
    let health = Arc::new(Health::default());
    let shown = Arc::new(shown(&engine, &health, fixed.mode));
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
    Ok(())
}

fn shown(engine: &Engine, health: &Arc<Health>, mode: SourceMode) -> Shown {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let process = Process {
        started: started.as_secs_f64(),
        source_mode: mode.name(),
        ..Process::default()
    };
    Shown {
        health: Arc::clone(health),
        counters: engine.counters(),
        lister: engine.lister(),
        process: Mutex::new(process),
        config: Mutex::new(String::new()),
    }
}

impl Fixed {
    fn new(config: &Config) -> Self {
        let available = || thread::available_parallelism().map_or(1, usize::from);
        Self {
            machine: Machine::read(),
            workers: config.file.workers.unwrap_or_else(available),
            mode: health::source_mode(config.file.source_mode),
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
            own: Arc::clone(own),
            limits: limits::for_worker(&config.file.limits, self.machine, self.workers),
            log: config.file.access_log.mode,
            log_tlvs: config.file.access_log.tlvs.clone(),
        })
    }
}

/// The signals we know.
struct Signals {
    end: End,
    hang_up: Signal,
}

/// The two that ask to end.
struct End {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            end: End {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            },
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

impl End {
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

impl Service {
    async fn run(mut self, admin: Vec<std::net::TcpListener>) -> io::Result<()> {
        let mut signals = Signals::new()?;
        for listener in admin {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(admin::serve(listener, Arc::clone(&self.shown)));
        }
        self.record_load(&Ok(()));
        self.say_start();
        self.serve(&mut signals).await;
        self.drain(&mut signals).await;
        Ok(())
    }

    /// Until a signal asks to end: reloads, and looks after itself.
    async fn serve(&mut self, signals: &mut Signals) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut test_at = Instant::now();
        loop {
            tokio::select! {
                () = signals.end.asked() => return,
                _ = signals.hang_up.recv() => self.reload(),
                _ = look.tick() => if self.source.has_changed() { self.reload() },
                () = sleep_until(test_at) => test_at = Instant::now() + self.test().await,
            }
        }
    }

    /// The self-test and a look at our addresses; answers how long to wait until the next.
    async fn test(&mut self) -> Duration {
        let (families, mode) = (health::families(&self.config), self.fixed.mode);
        let test = move || (health::test(&families, mode), health::own_addresses());
        let Ok((problems, own)) = tokio::task::spawn_blocking(test).await else {
            return health::ALARM;
        };
        let calm = if problems.is_empty() {
            health::CALM
        } else {
            health::ALARM
        };
        let said = problems.join("; ");
        if self.health.record(problems) {
            match said.is_empty() {
                true => tracing::info!("ready: the app can be dialled as the client"),
                false => tracing::error!(problem = %said, "not ready"),
            }
        }
        if own != *self.own {
            self.own = Arc::new(own);
            let setup = self.fixed.setup(&self.config, &self.own);
            self.engine
                .serve(&setup)
                .unwrap_or_else(|error| tracing::error!(%error, "addresses"));
        }
        calm
    }

    /// Takes over a new configuration, or keeps the old one and says why.
    fn reload(&mut self) {
        let result = self.try_reload();
        self.record_load(&result);
        match result {
            Ok(()) => tracing::info!(ports = self.config.ports.len(), "configuration reloaded"),
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::error!("the new configuration is refused, the old one stays: {error:#}");
            }
        }
    }

    fn try_reload(&mut self) -> Result<(), Error> {
        let config = self.source.load()?;
        self.engine.serve(&self.fixed.setup(&config, &self.own))?;
        warn_of_fixed(&self.config, &config);
        self.config = config;
        Ok(())
    }

    fn record_load(&self, result: &Result<(), Error>) {
        let mut process = self
            .shown
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => process.reloads += 1,
            Err(_) => process.reload_errors += 1,
        }
        let error = result.as_ref().err().map(|error| format!("{error}"));
        let limits = limits::for_worker(
            &self.config.file.limits,
            self.fixed.machine,
            self.fixed.workers,
        );
        let text = serde_json::json!({
            "config": self.config.file,
            "loads": process.reloads,
            "refused": process.reload_errors,
            "lastError": error,
            "sourceMode": self.fixed.mode.name(),
            "workers": self.fixed.workers,
            "connectionsPerWorker": limits.open,
            "pendingHeadersPerWorker": limits.pending,
            "ownAddresses": self.own.addresses,
        });
        *self
            .shown
            .config
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = format!("{text:#}\n");
    }

    fn say_start(&self) {
        let ports: Vec<_> = self.config.ports.iter().map(|port| &*port.name).collect();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            workers = self.fixed.workers,
            source_mode = self.fixed.mode.name(),
            ports = ports.join(","),
            "serving"
        );
    }

    /// Stops accepting and waits for what is open; a second signal or the deadline cuts it.
    async fn drain(mut self, signals: &mut Signals) {
        let limit = self.config.file.drain.timeout.0;
        tracing::info!(limit = %humantime::format_duration(limit), "draining");
        self.health.drain();
        self.engine.drain();
        let finished = tokio::select! {
            () = self.engine.ended() => true,
            () = signals.end.asked() => false,
            () = tokio::time::sleep(limit) => false,
        };
        if !finished {
            tracing::warn!("cutting connections that are still open");
            self.engine.cut();
            let _ = timeout(CUT, self.engine.ended()).await;
        }
        tracing::info!("ended");
    }
}

/// Some settings are read at start only: privileges are gone and threads are there.
fn warn_of_fixed(old: &Config, new: &Config) {
    let changed = [
        ("workers", old.file.workers != new.file.workers),
        ("admin.listen", old.file.admin != new.file.admin),
        ("sourceMode", old.file.source_mode != new.file.source_mode),
        ("mark", old.file.mark == 0 && new.file.mark != 0),
    ];
    for (field, _) in changed.iter().filter(|(_, changed)| *changed) {
        tracing::warn!(
            field,
            "a change of this field takes effect at the next start"
        );
    }
}

impl From<config::Error> for Error {
    fn from(error: config::Error) -> Self {
        Self::Source(source::Error::Config {
            of: "configuration".to_owned(),
            source: error,
        })
    }
}
