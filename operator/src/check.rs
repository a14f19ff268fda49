//! `check`: would a pod get its sidecar?
//!
//! Asks the API server for an annotated pod, as a dry run, and looks at what would be made. That
//! goes the whole way: API server, webhook configuration, Service, certificate, operator. Nothing
//! is made. `helm test` runs it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use proxyunwrap_api::names::{INIT_CONTAINER, SIDECAR, answers};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Between two tries, while the operator may still be on its way up.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a pod would have no sidecar.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator said no.
    #[error("a pod in namespace {namespace} would have no sidecar: {refusal}")]
    Refused {
        /// Where.
        namespace: String,
        /// Reason and sentence.
        refusal: String,
    },
    /// Nobody said anything.
    #[error(
        "a pod in namespace {0} would have no sidecar and no reason: no operator was asked, or none \
         answered; is one ready, and is the namespace served (namespaces.mode, namespaces.exclude)?"
    )]
    Unanswered(String),
    /// The API server said no.
    #[error("the API server would not make a pod in namespace {namespace}")]
    ApiServer {
        /// Where.
        namespace: String,
        /// Its words.
        source: Box<kube::Error>,
    },
}

/// Tries until a pod would get its sidecar, the operator says no, or patience ends.
///
/// # Errors
/// What stood in the way at the last try.
pub async fn check(client: Client, namespace: &str, patience: Duration) -> Result<(), Error> {
    let pods = Api::<Pod>::namespaced(client, namespace);
    let end = Instant::now() + patience;
    loop {
        match try_once(&pods, namespace).await {
            Ok(()) => return Ok(()),
            Err(error @ Error::Refused { .. }) => return Err(error),
            Err(error) if Instant::now() >= end => return Err(error),
            Err(error) => tracing::debug!(%error, "trying again"),
        }
        sleep(PAUSE).await;
    }
}

async fn try_once(pods: &Api<Pod>, namespace: &str) -> Result<(), Error> {
    let parameters = PostParams {
        dry_run: true,
        field_manager: None,
    };
    let made = pods.create(&parameters, &question()).await;
    let made = made.map_err(|source| Error::ApiServer {
        namespace: namespace.to_owned(),
        source: Box::new(source),
    })?;
    judge(&made, namespace)
}

/// A pod that asks for a sidecar, and that every Pod Security level admits as it is.
fn question() -> Pod {
    let question = json!({
        "metadata": {
            "generateName": "proxyunwrap-check-",
            "annotations": {"proxyunwrap.dev/ports": "8080"},
        },
        "spec": {
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "app",
                "image": "none",
                "ports": [{"containerPort": 8080}],
                // A quota or a LimitRange may ask for these.
                "resources": {
                    "requests": {"cpu": "10m", "memory": "16Mi"},
                    "limits": {"cpu": "1", "memory": "64Mi"},
                },
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    });
    serde_json::from_value(question).expect("a pod")
}

fn judge(pod: &Pod, namespace: &str) -> Result<(), Error> {
    let init = pod.spec.iter().flat_map(|spec| &spec.init_containers);
    let names: Vec<_> = init.flatten().map(|one| one.name.as_str()).collect();
    if names.contains(&INIT_CONTAINER) && names.contains(&SIDECAR) {
        return Ok(());
    }
    let namespace = namespace.to_owned();
    Err(match pod.annotations().get(answers::REFUSED) {
        Some(refusal) => Error::Refused {
            namespace,
            refusal: refusal.clone(),
        },
        None => Error::Unanswered(namespace),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(change: &serde_json::Value) -> String {
        let mut pod = serde_json::to_value(question()).unwrap();
        json_patch::merge(&mut pod, change);
        let pod = serde_json::from_value(pod).unwrap();
        judge(&pod, "shop").map_or_else(|error| error.to_string(), |()| "ok".to_owned())
    }

    #[test]
    fn a_pod_with_both_containers_would_have_its_sidecar() {
        let both = json!([{"name": "proxyunwrap-init"}, {"name": "proxyunwrap"}]);
        assert_eq!(said(&json!({"spec": {"initContainers": both}})), "ok");
        let half = json!([{"name": "proxyunwrap-init"}]);
        assert_ne!(said(&json!({"spec": {"initContainers": half}})), "ok");
    }

    #[test]
    fn a_refusal_is_handed_on_and_silence_is_named() {
        let refused =
            json!({"proxyunwrap.dev/refused": "PodSecurityLevel: shop enforces baseline"});
        let refused = said(&json!({"metadata": {"annotations": refused}}));
        assert!(
            refused.ends_with("PodSecurityLevel: shop enforces baseline"),
            "{refused}"
        );
        assert!(said(&json!({})).contains("none answered"));
    }
}
