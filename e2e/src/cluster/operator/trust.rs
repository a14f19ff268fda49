//! Why the API server believes the webhook: the Secret with the certificate, and the bundle of
//! authorities in the webhook's configuration.

use anyhow::{Context, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::{LIMIT, Operator, SECRET, WEBHOOK};
use crate::cluster::wait::until;

/// What there is to believe, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// What the webhook serves.
    pub certificate: Vec<u8>,
    /// The authorities in the Secret.
    pub authorities: Vec<u8>,
}

impl Operator {
    /// What the Secret holds, once the webhook's configuration names the same authorities.
    ///
    /// # Errors
    /// They do not agree within a minute.
    pub async fn trust(&self) -> anyhow::Result<Bundle> {
        let secrets = self.space.api::<Secret>();
        until(
            "the webhook's configuration names the Secret's CA",
            LIMIT,
            async || {
                let data = secrets.get(SECRET).await?.data.unwrap_or_default();
                let part = |key: &str| data.get(key).map(|part| part.0.clone());
                let authorities = part("ca.crt").context("no ca.crt")?;
                for named in self.named().await? {
                    ensure!(named == authorities, "another bundle is named");
                }
                let certificate = part("tls.crt").context("no tls.crt")?;
                Ok(Bundle {
                    certificate,
                    authorities,
                })
            },
        )
        .await
    }

    /// The bundle of each webhook in the configuration.
    async fn named(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let webhooks = self.webhooks().await?.into_iter();
        let named = webhooks.map(|one| one.client_config.ca_bundle);
        Ok(named
            .map(|bundle| bundle.map(|ByteString(bytes)| bytes).unwrap_or_default())
            .collect())
    }

    async fn webhooks(&self) -> anyhow::Result<Vec<MutatingWebhook>> {
        let found = self.configurations().get(WEBHOOK).await?;
        let webhooks = found.webhooks.unwrap_or_default();
        ensure!(!webhooks.is_empty(), "the configuration names no webhook");
        Ok(webhooks)
    }

    /// Asks for something to be made anew: `leaf` or `ca`.
    ///
    /// # Errors
    /// There is no Secret.
    pub async fn rotate(&self, what: &str) -> anyhow::Result<()> {
        let ask = json!({"metadata": {"annotations": {"proxyunwrap.dev/rotate": what}}});
        let secrets = self.space.api::<Secret>();
        secrets
            .patch(SECRET, &PatchParams::default(), &Patch::Merge(ask))
            .await?;
        Ok(())
    }

    /// Takes the authorities out of the webhook's configuration, as an unlucky `kubectl apply` does.
    ///
    /// # Errors
    /// There is no configuration.
    pub async fn forget_authorities(&self) -> anyhow::Result<()> {
        let webhooks = self.webhooks().await?;
        let without =
            |one: &MutatingWebhook| json!({"name": one.name, "clientConfig": {"caBundle": null}});
        let without: Vec<_> = webhooks.iter().map(without).collect();
        let patch = Patch::Strategic(json!({"webhooks": without}));
        let configurations = self.configurations();
        configurations
            .patch(WEBHOOK, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    fn configurations(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }
}
