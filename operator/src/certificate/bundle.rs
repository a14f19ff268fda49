//! The CAs that the webhook's configuration names: what the API server believes.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use kube::ResourceExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::loaded::signed;

/// Whether every entry names exactly these CAs.
pub(super) fn agrees(configuration: &MutatingWebhookConfiguration, bundle: &[u8]) -> bool {
    entries(configuration).all(|entry| named(entry) == bundle)
}

/// The change that makes every entry name these CAs; refused if the configuration has changed
/// meanwhile. Nothing but `caBundle` is touched: the rest is the chart's.
pub(super) fn patch(configuration: &MutatingWebhookConfiguration, bundle: &[u8]) -> Value {
    let stale = entries(configuration).filter(|entry| named(entry) != bundle);
    let bundle = ByteString(bundle.to_vec());
    let change = |entry: &MutatingWebhook| json!({ "name": entry.name, "clientConfig": { "caBundle": bundle } });
    json!({
        "metadata": { "resourceVersion": configuration.resource_version() },
        "webhooks": stale.map(change).collect::<Vec<_>>(),
    })
}

/// Why the API server would not believe what is served; nothing if it would.
pub(super) fn distrust(
    configuration: &MutatingWebhookConfiguration,
    leaf: &CertificateDer<'_>,
) -> Option<String> {
    let trusting = |entry: &&MutatingWebhook| {
        CertificateDer::pem_slice_iter(named(entry))
            .filter_map(Result::ok)
            .any(|authority| signed(leaf, &authority))
    };
    let configured = configuration.name_any();
    let Some(first) = entries(configuration).next() else {
        return Some(format!("{configured} has no webhook"));
    };
    let stranger = entries(configuration).find(|entry| !trusting(entry))?;
    let what = match named(first).is_empty() {
        true => "names no CA yet",
        false => "names another CA",
    };
    Some(format!("{} of {configured} {what}", stranger.name))
}

fn entries(configuration: &MutatingWebhookConfiguration) -> impl Iterator<Item = &MutatingWebhook> {
    configuration.webhooks.iter().flatten()
}

fn named(entry: &MutatingWebhook) -> &[u8] {
    let bundle = entry.client_config.ca_bundle.as_ref();
    bundle.map_or(&[], |bundle| &bundle.0)
}
