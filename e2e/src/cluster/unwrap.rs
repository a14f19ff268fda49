//! A resource of ours, and what its status says.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, ResourceExt};
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::status::{ConditionType, PodCounts, ProxyUnwrapStatus};

use super::wait::timed;
use super::{Manifest, Namespace, run};

/// How old the truth of a status may be.
const FRESH: Duration = Duration::from_secs(5);

/// A resource of a test's namespace.
pub struct Unwrap {
    api: Api<ProxyUnwrap>,
    name: String,
}

impl Unwrap {
    /// Applies it; `spec` is YAML. Applied again, fields that are not there any more go.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn apply(space: &Namespace, name: &str, spec: &str) -> anyhow::Result<Self> {
        let text = "apiVersion: proxyunwrap.dev/v1alpha1\nkind: ProxyUnwrap\n\
                    metadata: {name: {{name}}}\nspec: {{spec}}\n";
        let spec: serde_json::Value = serde_saphyr::from_str(spec)?;
        let values = [("name", name), ("spec", &spec.to_string())];
        space.apply(&Manifest::parse(text, &values)?).await?;
        Ok(Self {
            api: space.api(),
            name: name.to_owned(),
        })
    }

    /// Its status, which is about the spec as it is now.
    ///
    /// # Errors
    /// It has none, or one of an earlier spec.
    pub async fn status(&self) -> anyhow::Result<ProxyUnwrapStatus> {
        let unwrap = self.api.get(&self.name).await?;
        let generation = unwrap.metadata.generation;
        let status = unwrap
            .status
            .with_context(|| format!("{} has no status", self.name))?;
        ensure!(
            status.observed_generation == generation,
            "the spec is {generation:?}, the status is about {:?}",
            status.observed_generation
        );
        Ok(status)
    }

    /// Waits until a condition is `status` for this reason, and answers its message.
    ///
    /// # Errors
    /// It is not within five seconds.
    pub async fn says(
        &self,
        kind: ConditionType,
        status: &str,
        reason: &str,
    ) -> anyhow::Result<String> {
        let name = kind.name();
        let what = format!("{}: {name} is {status}, {reason}", self.name);
        timed(&what, FRESH, async || {
            let found = self.status().await?;
            let condition = condition(&found, kind)?;
            if condition.status != status || condition.reason != reason {
                bail!("{}", describe(&found));
            }
            Ok(condition.message.clone())
        })
        .await
    }

    /// Waits until its pods are counted so.
    ///
    /// # Errors
    /// They are not within five seconds.
    pub async fn counts(&self, want: PodCounts) -> anyhow::Result<()> {
        self.counts_within(FRESH, want).await
    }

    /// The same, where pods have to be made anew first.
    ///
    /// # Errors
    /// They are not counted so within `limit`.
    pub async fn counts_within(&self, limit: Duration, want: PodCounts) -> anyhow::Result<()> {
        let what = format!("{}: {want:?}", self.name);
        timed(&what, limit, async || {
            let found = self.status().await?;
            ensure!(found.pods == want, "{}", describe(&found));
            Ok(())
        })
        .await
    }

    /// What `kubectl get pu` prints of it, without name and age: Ready, Reason, Matched, Injected,
    /// Outdated, Failed.
    ///
    /// # Errors
    /// kubectl does.
    pub async fn row(&self) -> anyhow::Result<Vec<String>> {
        let space = self.api.namespace().unwrap_or_default();
        let command = [
            "get",
            "pu",
            &self.name,
            "--namespace",
            space,
            "--no-headers",
        ];
        let printed = run("kubectl", &command).await?;
        let words: Vec<_> = printed.split_whitespace().map(str::to_owned).collect();
        ensure!(words.len() == 8, "{printed:?}");
        Ok(words[1..7].to_vec())
    }

    /// Deletes it.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.api.delete(&self.name, &Default::default()).await?;
        Ok(())
    }
}

/// A resource in some lines, for a report.
pub(super) fn report(unwrap: &ProxyUnwrap) -> String {
    let name = unwrap.name_any();
    let told = unwrap.status.as_ref().map(describe);
    format!(
        "{name}: {}\n",
        told.unwrap_or_else(|| "no status".to_owned())
    )
}

fn condition(status: &ProxyUnwrapStatus, kind: ConditionType) -> anyhow::Result<&Condition> {
    let mut listed = status.conditions.iter();
    let found = listed.find(|condition| condition.type_ == kind.name());
    found.with_context(|| format!("there is no condition {}", kind.name()))
}

fn describe(status: &ProxyUnwrapStatus) -> String {
    let conditions = status.conditions.iter().map(|condition| {
        let Condition {
            type_,
            status,
            reason,
            message,
            ..
        } = condition;
        format!("{type_} {status} {reason}: {message}")
    });
    let conditions: Vec<_> = conditions.collect();
    let (pods, networks) = (status.pods, status.trusted_networks);
    format!("{}; {pods:?}; {networks} networks", conditions.join("; "))
}
