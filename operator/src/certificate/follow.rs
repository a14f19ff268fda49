//! Every replica serves what the Secret holds, and knows whether the API server believes it.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use tokio::sync::watch;

use super::bundle;
use super::loaded::Loaded;
use super::seen::Seen;
use crate::metrics::Metrics;
use crate::readiness::{Readiness, Trust};

/// What is served at present. Clones share it. A connection keeps what it began with.
#[derive(Clone, Debug, Default)]
pub struct Served(Arc<ArcSwapOption<Loaded>>);

impl Served {
    /// For a new connection.
    pub fn current(&self) -> Option<Arc<Loaded>> {
        self.0.load_full()
    }

    /// From now on.
    pub fn swap(&self, loaded: Loaded) {
        self.0.store(Some(Arc::new(loaded)));
    }
}

/// Loads what the Secret holds whenever it changes. A Secret that cannot be served changes nothing.
///
/// `configuration` is there if we keep the certificate ourselves; otherwise whoever keeps it also
/// sees to it that it is trusted.
pub async fn follow(
    mut secret: watch::Receiver<Seen<Secret>>,
    mut configuration: Option<watch::Receiver<Seen<MutatingWebhookConfiguration>>>,
    served: Served,
    readiness: Readiness,
    metrics: Arc<Metrics>,
) {
    let mut trouble = load(&secret.borrow_and_update().clone(), &served, &metrics);
    loop {
        let configured = configuration.as_mut();
        let configured = configured.map(|seen| seen.borrow_and_update().clone());
        readiness.set_certificate(trust(&served, trouble.as_deref(), configured.as_ref()));
        tokio::select! {
            changed = secret.changed() => {
                if changed.is_err() {
                    return;
                }
                trouble = load(&secret.borrow_and_update().clone(), &served, &metrics);
            }
            going_on = changed(configuration.as_mut()) => {
                if !going_on {
                    return;
                }
            }
        }
    }
}

/// Serves a Secret from now on, or says why not.
fn load(secret: &Seen<Secret>, served: &Served, metrics: &Metrics) -> Option<String> {
    let secret = match secret {
        Seen::Unknown => return Some("the Secret is not read yet".to_owned()),
        Seen::Absent => return Some("the Secret does not exist; the chart makes it".to_owned()),
        Seen::Present(secret) => secret,
    };
    match Loaded::new(secret) {
        Ok(loaded) => {
            tracing::info!(
                expires = %humantime::format_rfc3339_seconds(loaded.expires),
                "certificate loaded"
            );
            metrics.certificate_served(loaded.expires);
            served.swap(loaded);
            None
        }
        Err(error) => {
            tracing::warn!(%error, "certificate not loaded");
            Some(error.to_string())
        }
    }
}

fn trust(
    served: &Served,
    trouble: Option<&str>,
    configuration: Option<&Seen<MutatingWebhookConfiguration>>,
) -> Trust {
    let Some(loaded) = served.current() else {
        return Trust::Missing(trouble.unwrap_or_default().to_owned());
    };
    let distrust = match configuration {
        None => None,
        Some(Seen::Unknown) => Some("the webhook's configuration is not read yet".to_owned()),
        Some(Seen::Absent) => Some("the webhook's configuration does not exist".to_owned()),
        Some(Seen::Present(configuration)) => bundle::distrust(configuration, &loaded.leaf),
    };
    distrust.map_or(Trust::Trusted, Trust::Untrusted)
}

/// Whether it goes on; never comes back where there is nothing to wait for.
async fn changed<K>(seen: Option<&mut watch::Receiver<Seen<K>>>) -> bool {
    match seen {
        Some(seen) => seen.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}
