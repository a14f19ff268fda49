//! A thousand pods of a hundred resources, which trust the balancer's pods.

use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use k8s_openapi::api::core::v1::Pod as Object;
use kube::api::ListParams;
use proxyunwrap_api::names::answers::CONFIG;
use proxyunwrap_e2e::cluster::{Manifest, Namespace, Unwrap, until};
use serde_json::json;

/// In each namespace.
const RESOURCES: usize = 10;

/// Of each resource.
const PODS: usize = 10;

const LIMIT: Duration = Duration::from_secs(180);

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{name}}}
spec:
  replicas: {{replicas}}
  selector: {matchLabels: {app: {{name}}}}
  template:
    metadata: {labels: {app: {{name}}}}
    spec:
      nodeSelector: {type: kwok}
      tolerations: [{key: kwok.x-k8s.io/node, operator: Exists}]
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: nothing, ports: [{name: web, containerPort: 8080}]}]
";

/// The pods and their resources.
pub(crate) struct Crowd<'a> {
    spaces: &'a [Namespace],
}

impl<'a> Crowd<'a> {
    pub(crate) fn new(spaces: &'a [Namespace]) -> Self {
        Self { spaces }
    }

    pub(crate) fn resources(&self) -> usize {
        self.spaces.len() * RESOURCES
    }

    pub(crate) fn pods(&self) -> usize {
        self.resources() * PODS
    }

    /// Makes all, and waits until every pod has its sidecar and is counted.
    pub(crate) async fn fill(&self) -> anyhow::Result<()> {
        deploy(self.first()?, "balancer", 1).await?;
        let made = self.spaces.iter().map(async |space| {
            let unwraps = self.apply(space, "").await?;
            space.managed().await?;
            for index in 0..RESOURCES {
                deploy(space, &name(index), PODS).await?;
            }
            Ok::<_, anyhow::Error>(unwraps)
        });
        let unwraps = try_join_all(made).await?;
        for unwrap in unwraps.iter().flatten() {
            until("every pod is counted", LIMIT, async || {
                let pods = unwrap.status().await?.pods;
                ensure!(usize::try_from(pods.injected)? == PODS, "{pods:?}");
                Ok(())
            })
            .await?;
        }
        self.have(2).await
    }

    /// Pods that are asked about one after the other, as dry runs, while all the others are there.
    pub(crate) async fn ask(&self, pods: usize) -> anyhow::Result<()> {
        let space = self.first()?;
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "asked-", "labels": {"app": name(0)}},
            "spec": {"containers": [{
                "name": "app",
                "image": "nothing",
                "ports": [{"name": "web", "containerPort": 8080}],
            }]},
        });
        for _ in 0..pods {
            let created = space.create_object(&pod, true).await?;
            let containers = &created.object["spec"]["initContainers"];
            ensure!(containers.is_array(), "not injected: {}", created.object);
        }
        Ok(())
    }

    /// One more pod of the balancer, which every pod has to trust.
    pub(crate) async fn follow_a_new_balancer(&self) -> anyhow::Result<()> {
        self.first()?.scale("balancer", 2).await?;
        self.have(4).await
    }

    /// Changes every resource.
    pub(crate) async fn trust_somebody_else(&self) -> anyhow::Result<()> {
        let change = "{cidrs: [192.0.2.1]}, ";
        try_join_all(self.spaces.iter().map(|space| self.apply(space, change))).await?;
        self.have(5).await
    }

    fn first(&self) -> anyhow::Result<&Namespace> {
        self.spaces.first().context("no namespace")
    }

    async fn apply(&self, space: &Namespace, more: &str) -> anyhow::Result<Vec<Unwrap>> {
        let balancers = self.first()?.name();
        let mut unwraps = Vec::new();
        for index in 0..RESOURCES {
            let name = name(index);
            let spec = format!(
                "{{selector: {{matchLabels: {{app: {name}}}}}, ports: [{{name: web}}], trustedPeers: [{more}\
                 {{pods: {{selector: {{matchLabels: {{app: balancer}}}}, namespaces: [{balancers}]}}}}]}}"
            );
            unwraps.push(Unwrap::apply(space, &name, &spec).await?);
        }
        Ok(unwraps)
    }

    /// Waits until every pod's configuration trusts so many addresses.
    async fn have(&self, addresses: usize) -> anyhow::Result<()> {
        let what = format!("every pod trusts {addresses} addresses");
        for space in self.spaces {
            until(&what, LIMIT, async || {
                let labels = ListParams::default().labels("app!=balancer");
                let pods = space.api::<Object>().list(&labels).await?.items;
                let trust = pods.iter().filter(|pod| trusts(pod) == addresses).count();
                ensure!(trust == RESOURCES * PODS, "{trust} do");
                Ok(())
            })
            .await?;
        }
        Ok(())
    }
}

/// How many addresses a pod's configuration trusts.
fn trusts(pod: &Object) -> usize {
    let annotations = pod.metadata.annotations.iter();
    let config = annotations.filter_map(|all| all.get(CONFIG)).next();
    let lines = config.into_iter().flat_map(|config| config.lines());
    lines
        .filter(|line| line.ends_with("/32") || line.ends_with("/128"))
        .count()
}

fn name(index: usize) -> String {
    format!("app-{index}")
}

async fn deploy(space: &Namespace, name: &str, replicas: usize) -> anyhow::Result<()> {
    let values = [("name", name), ("replicas", &replicas.to_string())];
    space.apply(&Manifest::parse(DEPLOYMENT, &values)?).await
}
