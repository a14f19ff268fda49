//! The `run` command: start, serve, end.
//!
//! Every replica watches and answers. The one that leads also keeps the certificate and what is
//! running. At the end a replica says first that it is not ready, gives the Lease back, and answers
//! for a while still: until nobody sends it reviews any more.

mod end;
mod start;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admin::{self, Shown};
use crate::args::Run;
use crate::certificate::{self, Keeper, Seen, Served};
use crate::controller::{self, Context};
use crate::events::{self, Events};
use crate::leader::{self, Election};
use crate::metrics::{Metrics, Watched};
use crate::readiness::Readiness;
use crate::settings::Settings;
use crate::watch::Stores;
use crate::webhook::{self, Limits, Webhook};
use end::End;
use start::Clients;

/// Reviews come for so long after a replica has said that it is not ready: the news has to reach
/// every node.
const SERVE_ON: Duration = Duration::from_secs(6);

/// Why the operator could not start, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No way to the API server.
    #[error("could not find the API server: run in a pod, or give KUBECONFIG")]
    Config(#[from] kube::config::InferConfigError),
    /// A configuration that leads nowhere.
    #[error("could not make a client of the API server")]
    Client(#[from] kube::Error),
    /// A port of ours.
    #[error("could not listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    /// Signals.
    #[error("could not wait for signals")]
    Signals(#[source] io::Error),
}

/// What all tasks share.
struct Shared {
    clients: Clients,
    settings: Arc<Settings>,
    stores: Stores,
    metrics: Arc<Metrics>,
    events: Events,
    readiness: Readiness,
    served: Served,
    leads: watch::Sender<bool>,
    ending: watch::Sender<bool>,
}

/// Runs until a signal ends it.
///
/// # Errors
/// What keeps it from starting; nothing that happens later is one.
pub async fn run(args: &Run, settings: Settings) -> Result<(), Error> {
    let mut end = End::new().map_err(Error::Signals)?;
    let webhook = start::listen(args.webhook).await?;
    let admin = start::listen(args.admin).await?;
    let metrics = Arc::new(Metrics::default());
    let stores = Stores::default();
    let (events, notices) = Events::channel(Arc::clone(&metrics));
    let shared = Shared {
        clients: Clients::new().await?,
        settings: Arc::new(settings),
        readiness: Readiness::new(stores.clone()),
        stores,
        metrics,
        events,
        served: Served::default(),
        leads: watch::Sender::new(false),
        ending: watch::Sender::new(false),
    };
    let mut tasks = JoinSet::new();
    let shown = Shown {
        readiness: shared.readiness.clone(),
        metrics: Arc::clone(&shared.metrics),
    };
    tasks.spawn(admin::serve(admin, Arc::new(shown)));
    tasks.spawn(events::send(
        notices,
        shared.clients.write.clone(),
        args.name.clone(),
        Arc::clone(&shared.metrics),
    ));
    let watching = shared.stores.clone();
    tasks.spawn(watching.keep(shared.clients.watch.clone(), Arc::clone(&shared.metrics)));
    shared.keep_certificate(args, &mut tasks);
    let context = shared.context();
    tasks.spawn(shared.leading(move || control(context.clone())));
    let election = tokio::spawn(shared.election(args));
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(webhook::serve(webhook, shared.webhook(), stopped));
    tracing::info!(webhook = %args.webhook, admin = %args.admin, "started");

    end.asked().await;
    tracing::info!("asked to end: not ready from now on, answering a little longer");
    shared.readiness.end();
    shared.ending.send_replace(true);
    end.asked_again_within(SERVE_ON).await;
    stop.send_replace(true);
    let _ = serving.await;
    let _ = election.await;
    Ok(())
}

/// Nothing is written out of half a world.
async fn control(context: Context) {
    context.stores.whole().await;
    controller::run(context).await;
}

impl Shared {
    fn context(&self) -> Context {
        Context {
            client: self.clients.write.clone(),
            stores: self.stores.clone(),
            settings: Arc::clone(&self.settings),
            metrics: Arc::clone(&self.metrics),
            events: self.events.clone(),
        }
    }

    fn webhook(&self) -> Arc<Webhook> {
        Arc::new(Webhook {
            stores: self.stores.clone(),
            settings: Arc::clone(&self.settings),
            served: self.served.clone(),
            events: self.events.clone(),
            metrics: Arc::clone(&self.metrics),
            limits: Limits::default(),
            ending: self.ending.subscribe(),
        })
    }

    fn election(&self, args: &Run) -> impl Future<Output = ()> + Send + 'static {
        let election = Election {
            namespace: args.namespace.clone(),
            lease: self.settings.controller.lease.clone(),
            identity: args.name.clone(),
        };
        leader::run(
            election,
            self.clients.lease.clone(),
            self.leads.clone(),
            self.ending.subscribe(),
            Arc::clone(&self.metrics),
        )
    }

    /// Watches the Secret and the webhook's configuration, loads, and keeps both while we lead.
    fn keep_certificate(&self, args: &Run, tasks: &mut JoinSet<()>) {
        let ours = &self.settings.webhook;
        let secrets: Api<Secret> = Api::namespaced(self.clients.watch.clone(), &args.namespace);
        let (sender, secret) = watch::channel(Seen::Unknown);
        tasks.spawn(certificate::observe(
            secrets,
            ours.secret.clone(),
            Watched::Secret,
            sender,
            Arc::clone(&self.metrics),
        ));
        let configuration = ours
            .certificate
            .managed
            .then(|| self.observe_configuration(tasks));
        tasks.spawn(certificate::follow(
            secret.clone(),
            configuration.clone(),
            self.served.clone(),
            self.readiness.clone(),
            Arc::clone(&self.metrics),
        ));
        if let Some(configuration) = configuration {
            let keeper = Keeper {
                secrets: Api::namespaced(self.clients.write.clone(), &args.namespace),
                configurations: Api::all(self.clients.write.clone()),
                secret,
                configuration,
                names: certificate::names(&ours.service, &args.namespace),
                lives: ours.certificate.clone(),
                events: self.events.clone(),
                metrics: Arc::clone(&self.metrics),
                clock: Arc::new(SystemTime::now),
            };
            tasks.spawn(self.leading(move || certificate::keep(keeper.clone())));
        }
    }

    fn observe_configuration(
        &self,
        tasks: &mut JoinSet<()>,
    ) -> watch::Receiver<Seen<MutatingWebhookConfiguration>> {
        let (sender, configuration) = watch::channel(Seen::Unknown);
        tasks.spawn(certificate::observe(
            Api::all(self.clients.watch.clone()),
            self.settings.webhook.configuration.clone(),
            Watched::Configuration,
            sender,
            Arc::clone(&self.metrics),
        ));
        configuration
    }

    /// Work that only the leader does, from the beginning each time it comes to lead.
    fn leading<F, W>(&self, work: F) -> impl Future<Output = ()> + Send + use<F, W>
    where
        F: FnMut() -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let leads = self.leads.subscribe();
        async move {
            let _: Infallible = leader::while_leading(leads, work).await;
        }
    }
}
