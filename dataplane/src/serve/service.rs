//! The running service: reload, self-test, drain.

use std::future::pending;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::notice::Notice;
use super::signals::Signals;
use super::{Error, Fixed, Source};
use crate::admin::{self, Shown};
use crate::config::Config;
use crate::connection::claim::Own;
use crate::engine::Engine;
use crate::health::{self, Health};
use crate::limits;

/// How often the configuration file is looked at, beside whenever a change is noticed.
const LOOK: Duration = Duration::from_millis(500);

/// How long workers may take to cut what is open: their turn is far shorter.
const CUT: Duration = Duration::from_secs(2);

/// The running service.
pub(super) struct Service {
    pub(super) source: Source,
    pub(super) fixed: Fixed,
    pub(super) config: Config,
    pub(super) own: Arc<Own>,
    pub(super) engine: Engine,
    pub(super) health: Arc<Health>,
    pub(super) shown: Arc<Shown>,
}

impl Service {
    /// Answers on the admin port and serves until a signal ends it.
    pub(super) async fn run(mut self, admin: Vec<std::net::TcpListener>) -> io::Result<()> {
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
        let notice = Notice::of(self.source.path());
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut test_at = Instant::now();
        let mut test = None;
        loop {
            tokio::select! {
                () = signals.end.asked() => return,
                _ = signals.hang_up.recv() => self.reload(),
                () = notice.changed() => if self.source.has_changed() { self.reload() },
                _ = look.tick() => if self.source.has_changed() { self.reload() },
                () = sleep_until(test_at), if test.is_none() => test = Some(self.begin_test()),
                found = result(&mut test) => {
                    test = None;
                    test_at = Instant::now() + self.take(found);
                }
            }
        }
    }

    /// Begins the self-test and a look at our addresses. It may take seconds when packets are lost:
    /// signals must not wait for it.
    fn begin_test(&self) -> JoinHandle<Found> {
        let (families, mode) = (health::families(&self.config), self.fixed.mode);
        tokio::task::spawn_blocking(move || Found {
            problems: health::test(&families, mode),
            own: health::own_addresses(),
        })
    }

    /// Takes over what a test found; answers how long to wait until the next.
    fn take(&mut self, found: Result<Found, JoinError>) -> Duration {
        let Ok(Found { problems, own }) = found else {
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
        let result = result.map_err(|error| format!("{:#}", anyhow::Error::from(error)));
        self.record_load(&result);
        match result {
            Ok(()) => tracing::info!(ports = self.config.ports.len(), "configuration reloaded"),
            Err(error) => {
                tracing::error!("the new configuration is refused, the old one stays: {error}");
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

    fn record_load(&self, result: &Result<(), String>) {
        let mut process = self
            .shown
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => process.reloads += 1,
            Err(_) => process.reload_errors += 1,
        }
        let error = result.as_ref().err();
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
            "engine": self.engine.kind().name(),
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
            engine = self.engine.kind().name(),
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

/// What a self-test found.
struct Found {
    problems: Vec<String>,
    own: Own,
}

/// The result of the test that runs; without one there is none, ever.
async fn result(test: &mut Option<JoinHandle<Found>>) -> Result<Found, JoinError> {
    match test {
        Some(test) => test.await,
        None => pending().await,
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
