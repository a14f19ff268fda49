//! A leader that keeps the webhook's certificate on the small API server, with a clock of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Secret;
use kube::Api as KubeApi;
use proxyunwrap_operator::certificate::{self, Keeper, Loaded, Seen, Served};
use proxyunwrap_operator::events::{Events, Notice};
use proxyunwrap_operator::metrics::{Metrics, Watched};
use proxyunwrap_operator::readiness::Readiness;
use proxyunwrap_operator::settings::Certificate;
use proxyunwrap_operator::watch::Stores;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::api::Api;
use super::wait::until;

pub const SECRET: &str = "/api/v1/namespaces/pu-system/secrets/pu-tls";
pub const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/pu";
pub const SERVER: &str = "pu-webhook.pu-system.svc";

/// What a replica has of it.
pub struct Replica {
    pub served: Served,
    pub readiness: Readiness,
    pub metrics: Arc<Metrics>,
    pub notices: mpsc::Receiver<Notice>,
    clock: Arc<AtomicU64>,
}

/// As the chart makes them: an empty Secret, and a configuration without CAs.
pub fn install(api: &Api) {
    api.put(SECRET, json!({ "metadata": { "uid": "s1" } }));
    let entry = |name: &str| {
        json!({
            "name": name, "sideEffects": "NoneOnDryRun", "admissionReviewVersions": ["v1"],
            "clientConfig": { "service": { "name": "pu-webhook", "namespace": "pu-system" } },
        })
    };
    let entries = [
        entry("annotated.proxyunwrap.dev"),
        entry("managed.proxyunwrap.dev"),
    ];
    api.put(CONFIGURATION, json!({ "webhooks": entries }));
}

/// A replica that leads.
pub fn lead(api: &Api) -> Replica {
    let metrics = Arc::new(Metrics::default());
    let (events, notices) = Events::channel(Arc::clone(&metrics));
    let client = api.client();
    let secrets: KubeApi<Secret> = KubeApi::namespaced(client.clone(), "pu-system");
    let (secret_sender, secret) = watch::channel(Seen::Unknown);
    let (configuration_sender, configuration) = watch::channel(Seen::Unknown);
    tokio::spawn(certificate::observe(
        secrets.clone(),
        "pu-tls".to_owned(),
        Watched::Secret,
        secret_sender,
        Arc::clone(&metrics),
    ));
    tokio::spawn(certificate::observe(
        KubeApi::all(client.clone()),
        "pu".to_owned(),
        Watched::Configuration,
        configuration_sender,
        Arc::clone(&metrics),
    ));
    let clock = Arc::new(AtomicU64::new(0));
    let replica = Replica {
        served: Served::default(),
        readiness: Readiness::new(Stores::default()),
        metrics: Arc::clone(&metrics),
        notices,
        clock: Arc::clone(&clock),
    };
    tokio::spawn(certificate::follow(
        secret.clone(),
        Some(configuration.clone()),
        replica.served.clone(),
        replica.readiness.clone(),
        Arc::clone(&metrics),
    ));
    let now = move || SystemTime::now() + Duration::from_secs(clock.load(Ordering::SeqCst));
    tokio::spawn(certificate::keep(Keeper {
        secrets,
        configurations: KubeApi::all(client),
        secret,
        configuration,
        names: certificate::names("pu-webhook", "pu-system"),
        lives: Certificate::default(),
        events,
        metrics,
        clock: Arc::new(now),
    }));
    replica
}

impl Replica {
    /// Whether it serves a certificate that the configuration trusts.
    pub fn trusted(&self) -> Option<Arc<Loaded>> {
        let problems = self.readiness.problems();
        let certificate = problems
            .iter()
            .any(|problem| problem.contains("certificate"));
        self.served.current().filter(|_| !certificate)
    }

    /// The leader's clock goes on, and it looks.
    pub fn pass(&self, api: &Api, time: Duration) {
        self.clock.fetch_add(time.as_secs(), Ordering::SeqCst);
        let mut secret = api.get(SECRET);
        let looked = &mut secret["metadata"]["annotations"]["test/looked"];
        *looked = json!(format!("{time:?} {}", looked.as_str().unwrap_or_default()));
        api.put(SECRET, secret);
    }

    /// Lets so much time pass, and again now and then until `ready` answers: the leader counts from
    /// when its watch has shown it a change, which the test sees earlier.
    pub async fn pass_until<T>(
        &self,
        api: &Api,
        time: Duration,
        what: &str,
        mut ready: impl FnMut() -> Option<T>,
    ) -> T {
        let mut looks = 0;
        until(what, || {
            if looks % 200 == 0 {
                self.pass(api, time);
            }
            looks += 1;
            ready()
        })
        .await
    }
}

/// The CAs of an entry of the configuration, as PEM; of the first one if they differ.
pub fn bundle(api: &Api) -> Vec<u8> {
    let configuration = api.get(CONFIGURATION);
    let bundle = &configuration["webhooks"][0]["clientConfig"]["caBundle"];
    decoded(bundle)
}

/// How many CAs a bundle holds.
pub fn authorities(api: &Api) -> usize {
    let bundle = bundle(api);
    String::from_utf8_lossy(&bundle)
        .matches("BEGIN CERTIFICATE")
        .count()
}

/// Base64 of Kubernetes' JSON.
pub fn decoded(value: &Value) -> Vec<u8> {
    let bytes: Option<k8s_openapi::ByteString> = serde_json::from_value(value.clone()).unwrap();
    bytes.map(|bytes| bytes.0).unwrap_or_default()
}
