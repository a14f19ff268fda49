//! What is set for the whole cluster: the file that the chart writes.

mod file;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ResourceRequirements;
use proxyunwrap_api::quantity;
use proxyunwrap_api::spec::PullPolicy;
use proxyunwrap_api::values::{Network, Span};
use serde::Deserialize;

pub use file::BadSettings;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Who may speak for clients where nothing else is said. Never guessed, never empty.
    pub trusted_peers: Vec<Network>,
    /// The dataplane in the pods.
    pub dataplane: Dataplane,
    /// Which namespaces are served.
    #[serde(default)]
    pub namespaces: Namespaces,
    /// The webhook.
    pub webhook: Webhook,
    /// The controller.
    #[serde(default)]
    pub controller: Controller,
}

/// The dataplane in the pods.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dataplane {
    /// Image of init container and sidecar.
    pub image: String,
    /// When to pull it.
    #[serde(default)]
    pub image_pull_policy: Option<PullPolicy>,
    /// Requests and limits of the sidecar.
    #[serde(default, deserialize_with = "quantity::resources")]
    pub resources: Option<ResourceRequirements>,
    /// Requests and limits of the init container.
    #[serde(default, deserialize_with = "quantity::resources")]
    pub init_resources: Option<ResourceRequirements>,
}

/// Which namespaces are served.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Namespaces {
    /// All that are not opted out, or those that are opted in, by the label
    /// `proxyunwrap.dev/injection`.
    pub mode: NamespaceMode,
    /// Never served, beside kube-system, kube-node-lease and our own.
    pub exclude: BTreeSet<String>,
    /// Pod Security level enforced in namespaces that do not say, as the API server is configured.
    pub pod_security_default: PodSecurityLevel,
}

/// Whether namespaces are served unless they say no, or only if they say yes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum NamespaceMode {
    /// Served unless labelled `disabled`.
    #[default]
    OptOut,
    /// Served only if labelled `enabled`.
    OptIn,
}

/// Levels of Pod Security, from the most permissive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PodSecurityLevel {
    /// Everything.
    #[default]
    Privileged,
    /// No NET_ADMIN.
    Baseline,
    /// No added capability at all.
    Restricted,
}

/// The webhook.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Name of the MutatingWebhookConfiguration whose caBundle we keep.
    pub configuration: String,
    /// Name of the Service in front of us; the certificate is made out to it.
    pub service: String,
    /// Name of the Secret with the certificate.
    pub secret: String,
    /// Who makes the certificate.
    #[serde(default)]
    pub certificate: Certificate,
    /// What happens to a pod that was meant and cannot be injected.
    #[serde(default)]
    pub on_refusal: OnRefusal,
}

/// Who makes the webhook's certificate.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Certificate {
    /// We do, or something else writes the Secret (cert-manager) and the caBundle.
    pub managed: bool,
    /// Life of our own CA.
    pub ca_life: Span,
    /// Life of the server's certificate; it is made anew after two thirds.
    pub life: Span,
}

/// What happens to a pod that was meant and cannot be injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum OnRefusal {
    /// It is made as it is, with a warning, an Event, and the reason in an annotation.
    #[default]
    Warn,
    /// It is refused.
    Deny,
}

/// The controller.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Controller {
    /// Name of the Lease that decides who writes.
    pub lease: String,
    /// Pods whose configuration is changed in a second, at most.
    pub pod_patches_per_second: u32,
    /// Whether the label `proxyunwrap.dev/managed` is kept on namespaces.
    pub label_namespaces: bool,
    /// Whether `rollout: RestartOutdated` is permitted.
    pub restarts: bool,
}

impl Default for Certificate {
    fn default() -> Self {
        let days = |days: u64| Span(std::time::Duration::from_secs(days * 24 * 3600));
        Self {
            managed: true,
            ca_life: days(365),
            life: days(30),
        }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            lease: "proxyunwrap-operator".to_owned(),
            pod_patches_per_second: 200,
            label_namespaces: true,
            restarts: false,
        }
    }
}
