//! The leader keeps the Secret, and the webhook's configuration in agreement with it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use proxyunwrap_api::names::FIELD_MANAGER;
use tokio::sync::watch;

use super::plan::{Action, plan};
use super::renew::{self, renewed};
use super::seen::Seen;
use super::state::{Flaw, State};
use super::{bundle, key};
use crate::events::{Events, Kind, Notice};
use crate::metrics::{self, Metrics};
use crate::settings::Certificate;

/// Pause after an error.
const RETRY: Duration = Duration::from_secs(2);

/// Clocks may be set: the plan is made anew at least so often.
const LOOK: Duration = Duration::from_secs(600);

/// What the leader keeps, and with what.
#[derive(Clone)]
pub struct Keeper {
    /// Secrets of our namespace.
    pub secrets: Api<Secret>,
    /// Configurations of webhooks.
    pub configurations: Api<MutatingWebhookConfiguration>,
    /// The Secret as its watch shows it.
    pub secret: watch::Receiver<Seen<Secret>>,
    /// The configuration as its watch shows it.
    pub configuration: watch::Receiver<Seen<MutatingWebhookConfiguration>>,
    /// Names that the certificate is made out to.
    pub names: Vec<String>,
    /// How long certificates live.
    pub lives: Certificate,
    /// Told of new certificates.
    pub events: Events,
    /// Counts new certificates.
    pub metrics: Arc<Metrics>,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

/// Since when the configuration names a bundle.
type Agreed = Option<(Vec<u8>, SystemTime)>;

/// Something that is tried again.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("could not write the Secret {name}")]
    Write {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("could not write the caBundle of {name}")]
    Bundle {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error(transparent)]
    Renew(#[from] renew::Failure),
}

/// Keeps both until dropped.
pub async fn keep(mut keeper: Keeper) {
    let mut agreed = None;
    loop {
        let secret = keeper.secret.borrow_and_update().clone();
        let configuration = keeper.configuration.borrow_and_update().clone();
        let wait = match keeper.step(&secret, &configuration, &mut agreed).await {
            Ok(wait) => wait,
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::warn!(
                    error = format!("{error:#}"),
                    "certificate not kept, tried again"
                );
                RETRY
            }
        };
        tokio::select! {
            changed = keeper.secret.changed() => if changed.is_err() { return },
            changed = keeper.configuration.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

impl Keeper {
    /// One look and at most one write of each; says how long nothing more is to be done.
    async fn step(
        &self,
        secret: &Seen<Secret>,
        configuration: &Seen<MutatingWebhookConfiguration>,
        agreed: &mut Agreed,
    ) -> Result<Duration, Failure> {
        let Seen::Present(secret) = secret else {
            return Ok(LOOK);
        };
        let now = (self.clock)();
        let state = State::new(secret, &self.names);
        if let (Ok(_), Seen::Present(configuration)) = (&state, configuration) {
            let named = secret.data.as_ref().and_then(|data| data.get(key::BUNDLE));
            let named = named.map_or(&[][..], |bundle| &bundle.0);
            self.agree(configuration, named, agreed, now).await?;
        }
        let since = agreed.as_ref().map(|(_, since)| *since);
        let action = plan(&state, since, now);
        if let Action::Wait(until) = action {
            return Ok(until.duration_since(now).unwrap_or_default().min(LOOK));
        }
        let held = state.as_ref().ok();
        if let Some(next) = renewed(secret, held, action, &self.names, &self.lives, now)? {
            let ours = self.write(&next).await?;
            if !ours {
                return Ok(LOOK);
            }
            self.tell(&next, action, state.err().as_ref());
        }
        Ok(LOOK)
    }

    /// Makes the configuration name the bundle, and remembers since when it does.
    async fn agree(
        &self,
        configuration: &MutatingWebhookConfiguration,
        named: &[u8],
        agreed: &mut Agreed,
        now: SystemTime,
    ) -> Result<(), Failure> {
        if bundle::agrees(configuration, named) {
            if agreed.as_ref().is_none_or(|(before, _)| before != named) {
                *agreed = Some((named.to_vec(), now));
            }
            return Ok(());
        }
        *agreed = None;
        let name = configuration.name_any();
        let patch = Patch::Strategic(bundle::patch(configuration, named));
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = self.configurations.patch(&name, &params, &patch).await;
        match settled(patched) {
            Ok(true) => tracing::info!(configuration = name, "caBundle written"),
            Ok(false) => {}
            Err(source) => return Err(Failure::Bundle { name, source }),
        }
        Ok(())
    }

    /// Whether it was written: nothing happens if somebody else was faster.
    async fn write(&self, secret: &Secret) -> Result<bool, Failure> {
        let name = secret.name_any();
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let written = self.secrets.replace(&name, &params, secret).await;
        settled(written).map_err(|source| Failure::Write { name, source })
    }

    fn tell(&self, secret: &Secret, action: Action, flaw: Option<&Flaw>) {
        let (what, message) = match action {
            Action::Wait(_) | Action::Forget => return,
            Action::Both => (
                metrics::Certificate::Both,
                match flaw {
                    Some(flaw) => format!("made a CA and a certificate: {flaw}"),
                    None => "made a CA and a certificate: the old ones have expired".to_owned(),
                },
            ),
            Action::Ca(why) => (
                metrics::Certificate::Ca,
                format!(
                    "made a new CA: {}; it signs when it is trusted everywhere",
                    why.text()
                ),
            ),
            Action::Leaf(why) => (
                metrics::Certificate::Leaf,
                format!("made a new certificate of the webhook: {}", why.text()),
            ),
        };
        tracing::info!(what = what.name(), message, "certificate made");
        self.metrics.certificate_made(what);
        let regarding: ObjectReference = secret.object_ref(&());
        self.events.tell(Notice {
            kind: Kind::WebhookCertificateRotated,
            regarding,
            message,
        });
    }
}

/// Whether a change was made. If somebody else was faster the watch brings what they wrote, and the
/// plan is made anew.
fn settled<T>(outcome: Result<T, kube::Error>) -> Result<bool, kube::Error> {
    match outcome {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
