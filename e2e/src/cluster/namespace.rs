//! A namespace for each test, which goes when the test ends.

mod create;
mod services;

use std::env;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::FutureExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace as Object, Pod as PodObject, ServiceAccount};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch,
    PatchParams, PostParams, TypeMeta, ValidationDirective,
};
use kube::{Client, Resource};
use proxyunwrap_api::names::MANAGED;
use serde_json::json;

pub use self::create::Created;
use super::wait::until;
use super::{Manifest, Pod, report};

/// Who we are to server-side apply.
const MANAGER: &str = "proxyunwrap-e2e";

/// Set to 1, it keeps the namespaces of tests that fail.
const KEEP: &str = "PROXYUNWRAP_KEEP";

/// A test's own namespace.
pub struct Namespace {
    client: Client,
    name: String,
}

/// Runs a test in a namespace of its own. If it fails, what a person needs to know is printed
/// first; then the namespace goes, or stays with `PROXYUNWRAP_KEEP=1`.
///
/// # Errors
/// The test's, or: there is no cluster.
pub async fn in_namespace(
    test: impl AsyncFnOnce(&Namespace) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    in_labelled_namespace(&[], test).await
}

/// The same, in a namespace with these labels.
///
/// # Errors
/// The test's, or: there is no cluster.
pub async fn in_labelled_namespace(
    labels: &[(&str, &str)],
    test: impl AsyncFnOnce(&Namespace) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let space = Namespace::create(connect().await?, labels).await?;
    let result = AssertUnwindSafe(test(&space)).catch_unwind().await;
    let failed = !matches!(result, Ok(Ok(())));
    if failed {
        eprintln!("{}", report::of(&space).await);
    }
    space.leave(failed).await;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// In so many namespaces at once, for what needs a crowd; without a report, which would be long.
///
/// # Errors
/// The measurement's, or: there is no cluster.
pub async fn in_namespaces(
    count: usize,
    measure: impl AsyncFnOnce(&[Namespace]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let client = connect().await?;
    let mut spaces = Vec::new();
    for _ in 0..count {
        spaces.push(Namespace::create(client.clone(), &[]).await?);
    }
    let result = measure(&spaces).await;
    for space in &spaces {
        space.leave(result.is_err()).await;
    }
    result
}

/// The cluster that KUBECONFIG names.
pub(super) async fn connect() -> anyhow::Result<Client> {
    if env::var_os("KUBECONFIG").is_none() {
        bail!("no cluster: KUBECONFIG is not set; run the tests by `make e2e`");
    }
    Client::try_default()
        .await
        .context("could not use KUBECONFIG")
}

impl Namespace {
    /// The API server adds letters of its own to the name.
    async fn create(client: Client, labels: &[(&str, &str)]) -> anyhow::Result<Self> {
        let label = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let object = Object {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", test_name())),
                labels: Some(labels.iter().map(label).collect()),
                ..ObjectMeta::default()
            },
            ..Object::default()
        };
        let all = Api::<Object>::all(client.clone());
        let made = all.create(&PostParams::default(), &object).await;
        let made = made.context("could not make a namespace; does the cluster run?")?;
        let name = made.metadata.name.unwrap_or_default();
        let space = Self { client, name };
        space.wait_for_service_account().await?;
        Ok(space)
    }

    /// No pod is admitted before its service account is there, a moment after the namespace.
    async fn wait_for_service_account(&self) -> anyhow::Result<()> {
        let accounts = self.api::<ServiceAccount>();
        until(
            "the namespace has its service account",
            Duration::from_secs(30),
            async || {
                accounts.get("default").await?;
                Ok(())
            },
        )
        .await
    }

    /// Begins to delete it: everything in it goes within seconds, and nobody waits for that.
    async fn delete(&self) -> anyhow::Result<()> {
        let all = Api::<Object>::all(self.client.clone());
        all.delete(&self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Deletes it, unless the test failed and a person wants to look.
    async fn leave(&self, failed: bool) {
        if failed && env::var(KEEP).is_ok_and(|keep| keep == "1") {
            eprintln!("kept: kubectl get all --namespace {}", self.name);
        } else if let Err(error) = self.delete().await {
            // The test's own result says more.
            eprintln!("could not delete the namespace {}: {error:#}", self.name);
        }
    }

    /// A namespace that somebody else made.
    pub(super) fn existing(client: Client, name: &str) -> Self {
        let name = name.to_owned();
        Self { client, name }
    }

    /// Waits until the operator has seen a resource or an annotated Service in it: the webhook is
    /// asked about every new pod from then on.
    ///
    /// # Errors
    /// It has not within five seconds.
    pub async fn managed(&self) -> anyhow::Result<()> {
        let all = Api::<Object>::all(self.client.clone());
        let what = format!("the namespace has the label {MANAGED}");
        until(&what, Duration::from_secs(5), async || {
            let labels = all.get(&self.name).await?.metadata.labels;
            let labels = labels.unwrap_or_default();
            if labels.get(MANAGED).map(String::as_str) != Some("true") {
                bail!("its labels are {labels:?}");
            }
            Ok(())
        })
        .await
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API for one kind of object in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Applies objects; a field that Kubernetes does not know is an error.
    ///
    /// # Errors
    /// The API server refuses one.
    pub async fn apply(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut how = PatchParams::apply(MANAGER);
        how.field_validation = Some(ValidationDirective::Strict);
        for value in &manifest.objects {
            let object: DynamicObject = serde_json::from_value(value.clone())?;
            let kind = resource(object.types.as_ref().context("an object has no kind")?)?;
            let name = object
                .metadata
                .name
                .clone()
                .context("an object has no name")?;
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), &self.name, &kind);
            let applied = api.patch(&name, &how, &Patch::Apply(&object)).await;
            applied.with_context(|| format!("could not apply {} {name}", kind.kind))?;
        }
        Ok(())
    }

    /// A pod by its name.
    pub fn pod(&self, name: &str) -> Pod {
        Pod::new(self.api(), name)
    }

    /// The pods with this label, `key=value`; all of them for an empty one.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn pods(&self, label: &str) -> anyhow::Result<Vec<Pod>> {
        let pods = self.api::<PodObject>();
        let listed = pods.list(&ListParams::default().labels(label)).await?;
        let names = listed.items.into_iter().filter_map(|pod| pod.metadata.name);
        Ok(names.map(|name| Pod::new(pods.clone(), name)).collect())
    }

    /// Waits until so many pods with this label are ready; those on their way out are none.
    ///
    /// # Errors
    /// They are not within a minute.
    pub async fn ready_pods(&self, label: &str, count: usize) -> anyhow::Result<Vec<Pod>> {
        let what = format!("{count} pods with {label} are ready");
        until(&what, Duration::from_secs(60), async || {
            let mut ready = Vec::new();
            for pod in self.pods(label).await? {
                if pod.object().await?.metadata.deletion_timestamp.is_none() {
                    pod.ready_within(Duration::ZERO).await?;
                    ready.push(pod);
                }
            }
            if ready.len() != count {
                bail!("{} are", ready.len());
            }
            Ok(ready)
        })
        .await
    }

    /// Changes how many pods a Deployment has, and does not wait.
    ///
    /// # Errors
    /// There is no such Deployment.
    pub async fn scale(&self, deployment: &str, replicas: u32) -> anyhow::Result<()> {
        let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let deployments = self.api::<Deployment>();
        deployments
            .patch_scale(deployment, &PatchParams::default(), &scale)
            .await?;
        Ok(())
    }
}

fn resource(types: &TypeMeta) -> anyhow::Result<ApiResource> {
    Ok(ApiResource::from_gvk(&GroupVersionKind::try_from(types)?))
}

/// The running test's name as a namespace's; the harness names threads after tests.
fn test_name() -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("e2e").replace('_', "-");
    // 63 letters are allowed, and the API server adds five.
    let name = name.rsplit("::").next().unwrap_or_default();
    name.chars().take(55).collect()
}
