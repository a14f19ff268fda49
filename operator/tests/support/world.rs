//! Worlds from objects as a person would write them, the boring parts left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::target::TargetKind;
use proxyunwrap_operator::inject;
use proxyunwrap_operator::policy::{Selection, select};
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::world::{Workload, World};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Settings with some of them said.
pub(crate) fn settings(said: &Map<String, Value>) -> Settings {
    let mut all = json!({
        "trustedPeers": ["10.0.0.0/8"],
        "dataplane": {"image": "registry.example/dataplane:1"},
        "webhook": {"configuration": "proxyunwrap", "service": "proxyunwrap", "secret": "proxyunwrap"},
    });
    for (key, value) in said {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

/// `Pod/web-1`.
pub(crate) fn name_of(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    format!("{kind}/{name}")
}

/// Puts an object into a world, in the place of one of the same name. What is left out is filled in:
/// the namespace shop, the uid `Kind/name`, an age, a pod's container with the port web at 8080. A
/// pod's `of: Deployment/web` says who made it.
pub(crate) fn add(world: &mut World, mut object: Value) {
    let name = name_of(&object);
    remove(world, &name);
    let (kind, name) = name.split_once('/').unwrap();
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("shop")
        .to_owned();
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata
        .entry("uid")
        .or_insert(format!("{kind}/{name}").into());
    metadata
        .entry("creationTimestamp")
        .or_insert("2026-01-01T00:00:00Z".into());
    if kind != "Namespace" && kind != "Node" {
        metadata
            .entry("namespace")
            .or_insert(namespace.clone().into());
    }
    match kind {
        "Namespace" => drop(world.namespaces.insert(name.to_owned(), read(object))),
        "Node" => world.nodes.push(read(object)),
        "ProxyUnwrap" => {
            object["apiVersion"] = "proxyunwrap.dev/v1alpha1".into();
            metadata_of(&mut object)
                .entry("generation")
                .or_insert(1.into());
            put(&mut world.unwraps, namespace, object);
        }
        "Service" => put(&mut world.services, namespace, object),
        "Pod" => put(&mut world.pods, namespace, pod(object)),
        workload => {
            let kind = kind_of(workload);
            let workload = Workload {
                kind,
                name: name.to_owned(),
                uid: format!("{workload}/{name}"),
            };
            world.workloads.entry(namespace).or_default().push(workload);
        }
    }
}

fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    object["metadata"].as_object_mut().unwrap()
}

fn put<T: DeserializeOwned>(
    shelves: &mut BTreeMap<String, Vec<Arc<T>>>,
    namespace: String,
    object: Value,
) {
    shelves.entry(namespace).or_default().push(read(object));
}

fn read<T: DeserializeOwned>(object: Value) -> Arc<T> {
    let text = object.to_string();
    Arc::new(serde_json::from_value(object).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn kind_of(kind: &str) -> TargetKind {
    serde_json::from_value(kind.into()).unwrap()
}

/// A pod as it would be, from what is said of it.
fn pod(mut pod: Value) -> Value {
    let app = json!({"name": "app", "ports": [{"name": "web", "containerPort": 8080}]});
    let maker = pod.as_object_mut().unwrap().remove("of");
    let spec = pod
        .as_object_mut()
        .unwrap()
        .entry("spec")
        .or_insert_with(|| json!({}));
    let spec = spec.as_object_mut().unwrap();
    spec.entry("containers").or_insert_with(|| json!([app]));
    if let Some(maker) = maker {
        made_by(&mut pod, maker.as_str().unwrap());
    }
    if pod["status"].is_null() {
        pod["status"] = json!({"phase": "Running"});
    }
    pod
}

fn made_by(pod: &mut Value, maker: &str) {
    let (kind, name) = maker.split_once('/').unwrap();
    let (kind, name) = match kind {
        "Deployment" => ("ReplicaSet", format!("{name}-5d8c7")),
        kind => (kind, name.to_owned()),
    };
    if kind == "ReplicaSet" {
        pod["metadata"]["labels"]["pod-template-hash"] = "5d8c7".into();
    }
    let uid = format!("{kind}/{name}");
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}]);
}

/// Takes `Kind/name` away.
pub(crate) fn remove(world: &mut World, name: &str) {
    let (kind, name) = name.split_once('/').unwrap();
    match kind {
        "Namespace" => drop(world.namespaces.remove(name)),
        "Node" => world.nodes.retain(|one| one.name_any() != name),
        "ProxyUnwrap" => without(&mut world.unwraps, name),
        "Service" => without(&mut world.services, name),
        "Pod" => without(&mut world.pods, name),
        kind => {
            let kind = kind_of(kind);
            for all in world.workloads.values_mut() {
                all.retain(|one| one.kind != kind || one.name != name);
            }
        }
    }
}

fn without<T: ResourceExt>(shelves: &mut BTreeMap<String, Vec<Arc<T>>>, name: &str) {
    for shelf in shelves.values_mut() {
        shelf.retain(|one| one.name_any() != name);
    }
    shelves.retain(|_, shelf| !shelf.is_empty());
}

/// Gives every pod what the webhook would give it in this world.
pub(crate) fn admit(world: &mut World, settings: &Settings) {
    let before = world.clone();
    for (namespace, pods) in &mut world.pods {
        for pod in pods {
            *pod = Arc::new(admitted(pod, namespace, &before, settings));
        }
    }
}

fn admitted(pod: &Pod, namespace: &str, world: &World, settings: &Settings) -> Pod {
    let Selection::Governed(policy) = select(pod, namespace, world, settings) else {
        return pod.clone();
    };
    let labels = world.namespace_labels(namespace);
    let mut raw = serde_json::to_value(pod).unwrap();
    let patch = inject::namespace_allows(pod, namespace, &labels, settings)
        .and_then(|()| inject::patch(&raw, &policy, settings));
    if let Ok(patch) = patch {
        json_patch::patch(&mut raw, &patch).unwrap();
    }
    let seen = inject::seen(&raw).unwrap();
    Pod {
        status: pod.status.clone(),
        ..seen
    }
}
