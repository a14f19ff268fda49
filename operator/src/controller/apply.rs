//! Carries out one write by the Kubernetes API.
//!
//! An object that is gone, or that is another one now, is no failure: the watch tells, and the next
//! plan is about what is there. Everything else is tried again by [`outbox`], object by object.

pub mod outbox;
mod pace;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::Status;
use kube::{Api, Client};
use proxyunwrap_api::{ProxyUnwrap, names};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::plan::{Answer, Label, Push};
use crate::metrics::Step;

/// How long an answer may take: a connection that hangs must not hold up other objects.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A running pod's configuration.
    Push(Push),
    /// A resource's status.
    Answer(Answer),
    /// The namespace's label.
    Label(Label),
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is done.
    Done,
    /// The object is gone, or another one has its name.
    Gone,
}

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pod's configuration.
    #[error("could not change the annotation {config} of pod {namespace}/{name}; the operator needs the right to patch pods/status there", config = names::answers::CONFIG)]
    Push {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        source: Cause,
    },
    /// A status.
    #[error(
        "could not write the status of ProxyUnwrap {namespace}/{name}; the operator needs the right to patch proxyunwraps/status there"
    )]
    Answer {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        source: Cause,
    },
    /// A label.
    #[error("could not change the label {label} of namespace {namespace}; the operator needs the right to patch namespaces, or set controller.labelNamespaces: false", label = names::MANAGED)]
    Label {
        /// Its name.
        namespace: String,
        /// Why.
        source: Cause,
    },
}

/// Why there was no good answer.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// It was a bad one.
    #[error("the API server answered {}: {}", .0.code, .0.message)]
    Refused(Box<Status>),
    /// It did not come.
    #[error("the API server gave no answer within {PATIENCE:?}")]
    Late,
    /// The API server was not reached, or not understood.
    #[error("the API server was not reached")]
    Unreached(#[source] kube::Error),
}

impl Write {
    /// Which step of the controller it belongs to.
    pub fn step(&self) -> Step {
        match self {
            Self::Push(_) => Step::Configure,
            Self::Answer(_) => Step::Status,
            Self::Label(_) => Step::Label,
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// Which object could not be written, and why.
    pub async fn apply(self, namespace: String, client: Client) -> Result<Written, Error> {
        match self {
            Self::Push(push) => {
                let sent = or_gone(push.apply(&namespace, client)).await;
                sent.map_err(|source| Error::Push {
                    namespace,
                    name: push.pod,
                    source,
                })
            }
            Self::Answer(answer) => {
                let sent = or_gone(answer.apply(&namespace, client)).await;
                sent.map_err(|source| Error::Answer {
                    namespace,
                    name: answer.name,
                    source,
                })
            }
            Self::Label(label) => {
                let sent = or_gone(label.apply(&namespace, client)).await;
                sent.map_err(|source| Error::Label { namespace, source })
            }
        }
    }
}

impl Error {
    /// Why, without which object: for a place that names it.
    pub fn cause(&self) -> &Cause {
        match self {
            Self::Push { source, .. }
            | Self::Answer { source, .. }
            | Self::Label { source, .. } => source,
        }
    }
}

impl Push {
    /// The right to patch a pod's status is enough to change its annotations, and less than the
    /// right to patch pods.
    async fn apply(&self, namespace: &str, client: Client) -> Result<(), kube::Error> {
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let body = json!({"metadata": {
            "uid": self.uid,
            "annotations": {names::answers::CONFIG: self.config},
        }});
        let (ours, body) = (PatchParams::apply(names::FIELD_MANAGER), Patch::Merge(body));
        pods.patch_status(&self.pod, &ours, &body).await.map(drop)
    }
}

impl Answer {
    /// As a dynamic object: the answer to a resource that we cannot read is one that we cannot read.
    async fn apply(&self, namespace: &str, client: Client) -> Result<(), kube::Error> {
        let kind = ApiResource::erase::<ProxyUnwrap>(&());
        let unwraps: Api<DynamicObject> = Api::namespaced_with(client, namespace, &kind);
        let body = json!({"metadata": {"uid": self.uid}, "status": self.status});
        let (ours, body) = (PatchParams::apply(names::FIELD_MANAGER), Patch::Merge(body));
        let sent = unwraps.patch_status(&self.name, &ours, &body).await;
        sent.map(drop)
    }
}

impl Label {
    async fn apply(self, namespace: &str, client: Client) -> Result<(), kube::Error> {
        let namespaces: Api<Namespace> = Api::all(client);
        // By force: a label that somebody else set to another word would never be ours.
        let ours = PatchParams::apply(names::FIELD_MANAGER).force();
        let body = Patch::Apply(self.body(namespace));
        namespaces.patch(namespace, &ours, &body).await.map(drop)
    }

    /// Applying nothing takes back what we applied before, and leaves what others did.
    fn body(self, namespace: &str) -> Value {
        let labels = match self {
            Self::Set => json!({names::MANAGED: "true"}),
            Self::Remove => json!({}),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": namespace, "labels": labels},
        })
    }
}

/// The API server answers 404 for an object that is gone, and 409 or 422 for one with another uid.
async fn or_gone<T>(sent: impl Future<Output = Result<T, kube::Error>>) -> Result<Written, Cause> {
    match answered(sent).await {
        Ok(_) => Ok(Written::Done),
        Err(Cause::Refused(status)) if status.is_not_found() || is_another(&status) => {
            Ok(Written::Gone)
        }
        Err(cause) => Err(cause),
    }
}

fn is_another(status: &Status) -> bool {
    [409, 422].contains(&status.code) && status.message.to_lowercase().contains("uid")
}

/// Waits for an answer, for as long as another may wait behind it.
pub(super) async fn answered<T>(
    sent: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Cause> {
    match timeout(PATIENCE, sent).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(Cause::Refused(status)),
        Ok(Err(error)) => Err(Cause::Unreached(error)),
        Err(_) => Err(Cause::Late),
    }
}
