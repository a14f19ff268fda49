//! Promise: a pod that is meant and cannot be injected runs as it is, and everybody is told why and
//! what to do: who creates it, who looks at its owner, and who looks at the resource.

use anyhow::{Context, ensure};
use proxyunwrap_api::names::answers;
use proxyunwrap_api::status::{ConditionType, PodCounts};
use proxyunwrap_e2e::cluster::{
    Created, Manifest, Namespace, Unwrap, event, in_labelled_namespace, in_namespace,
};
use serde_json::{Value, json};

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

#[tokio::test]
async fn a_namespace_that_enforces_baseline_is_named_with_what_to_do() -> anyhow::Result<()> {
    in_labelled_namespace(&[(ENFORCE, "baseline")], async |space| {
        let spec =
            "{selector: {matchExpressions: [{key: app, operator: Exists}]}, ports: [{port: 8080}]}";
        let unwrap = Unwrap::apply(space, "all", spec).await?;
        let kind = ConditionType::PodSecurityCompatible;
        let reason = "NamespaceEnforcesBaseline";
        // Before any pod: nobody needs to try.
        names_the_fix(space, &unwrap.says(kind, "False", reason).await?)?;
        space.managed().await?;

        let created = space.create_object(&pod(&json!({})), false).await?;
        names_the_fix(space, &warning(&created)?)?;
        let pod = space.pod("app");
        pod.ready().await?;
        let refused = pod.annotation(answers::REFUSED).await?;
        ensure!(refused.starts_with("PodSecurityLevel: "), "{refused}");
        ensure!(
            pod.container("proxyunwrap").await.is_err(),
            "it was injected"
        );

        let values = [("kind", "Deployment"), ("name", "deployment")];
        space
            .apply(&Manifest::read("workload.yaml", &values)?)
            .await?;
        let pod = space.ready_pods("app=deployment", 1).await?.remove(0);
        let owners = pod.object().await?.metadata.owner_references;
        let owner = owners.unwrap_or_default().remove(0);
        let told = event::about(space, &owner.kind, &owner.name, "InjectionRefused").await?;
        names_the_fix(space, &told)?;

        let failed = PodCounts {
            matched: 2,
            failed: 2,
            ..PodCounts::default()
        };
        unwrap.counts(failed).await?;
        let message = unwrap.says(ConditionType::Ready, "False", reason).await?;
        names_the_fix(space, &message)
    })
    .await
}

#[tokio::test]
async fn a_misspelt_annotation_is_answered_with_the_nearest_key() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let misspelt = pod(&json!({"proxyunwrap.dev/port": "8080"}));
        let warning = warning(&space.create_object(&misspelt, false).await?)?;
        has(&warning, "InvalidAnnotation")?;
        has(&warning, "proxyunwrap.dev/port ")?;
        has(&warning, "proxyunwrap.dev/ports")?;
        space.pod("app").ready().await?;
        let told = event::about(space, "Pod", "app", "InjectionRefused").await?;
        has(&told, "proxyunwrap.dev/ports")
    })
    .await
}

/// As many ways to be refused as a single pod has; each names what it is about.
#[tokio::test]
async fn every_refusal_names_what_it_is_about() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let ports = |value: &str| pod(&json!({"proxyunwrap.dev/ports": value}));
        let mut host_network = ports("8080");
        host_network["spec"]["hostNetwork"] = json!(true);
        let mut conflict = ports("8080");
        conflict["spec"]["containers"][0]["ports"] = json!([{"containerPort": 15090}]);
        let mut windows = ports("8080");
        windows["spec"]["os"] = json!({"name": "windows"});
        windows["spec"]["securityContext"] = Value::Null;
        windows["spec"]["containers"][0]["securityContext"] = Value::Null;
        let mut mesh = ports("8080");
        mesh["metadata"]["annotations"]["sidecar.istio.io/status"] = json!("{}");
        for (object, reason, part) in [
            (host_network, "HostNetwork", "hostNetwork"),
            (conflict, "PortConflict", "15090"),
            (windows, "UnsupportedOS", "indows"),
            (mesh, "OtherMeshCapturesPort", "sidecar.istio.io/inject"),
            (ports("http"), "NoMatchingPort", "http"),
            (ports("0"), "InvalidAnnotation", "ports"),
            (
                pod(&json!({"proxyunwrap.dev/unwrap": "nobody"})),
                "PolicyNotFound",
                "nobody",
            ),
        ] {
            let created = space.create_object(&object, true).await?;
            let warning = warning(&created)?;
            eprintln!("{warning}");
            has(&warning, reason)?;
            has(&warning, part)?;
            let spec = &created.object["spec"];
            ensure!(spec["initContainers"].is_null(), "injected: {spec}");
        }
        Ok(())
    })
    .await
}

/// The one warning of ours.
fn warning(created: &Created) -> anyhow::Result<String> {
    let mut ours = created
        .warnings
        .iter()
        .filter(|text| text.contains("proxyunwrap: "));
    let found = ours
        .next()
        .with_context(|| format!("{:?}", created.warnings))?;
    ensure!(
        ours.next().is_none(),
        "more than one: {:?}",
        created.warnings
    );
    Ok(found.clone())
}

fn names_the_fix(space: &Namespace, text: &str) -> anyhow::Result<()> {
    eprintln!("{text}");
    for part in ["baseline", space.name(), "privileged"] {
        has(text, part)?;
    }
    Ok(())
}

fn has(text: &str, part: &str) -> anyhow::Result<()> {
    ensure!(text.contains(part), "{part:?} is not in {text:?}");
    Ok(())
}

/// A pod that is ready as soon as it runs, and passes the level `restricted`.
fn pod(annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app", "labels": {"app": "app"}, "annotations": annotations},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "app",
                "image": "localhost/testapp:dev",
                "imagePullPolicy": "Never",
                "args": ["echo", "--tcp", "0.0.0.0:8080"],
                "ports": [{"name": "web", "containerPort": 8080}],
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        },
    })
}
