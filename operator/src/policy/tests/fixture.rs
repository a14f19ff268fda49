//! A world out of YAML, and answers as text.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::ports::Port;
use proxyunwrap_api::target::TargetKind;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::policy::{Networks, Policy, Selection, select};
use crate::settings::Settings;
use crate::world::{Workload, World};

pub(super) const NAMESPACE: &str = "shop";

/// Objects, one a document. Without namespace they are in `shop`; of a date the year is enough.
pub(super) fn world(yaml: &str) -> World {
    let mut world = World::default();
    for document in yaml.split("\n---\n") {
        add(&mut world, serde_saphyr::from_str(document).unwrap());
    }
    world
}

fn add(world: &mut World, mut object: Value) {
    let meta = &mut object["metadata"];
    if meta["namespace"].is_null() {
        meta["namespace"] = NAMESPACE.into();
    }
    if let Some(year) = meta["creationTimestamp"].as_u64() {
        meta["creationTimestamp"] = format!("{year}-01-01T00:00:00Z").into();
    }
    let namespace = meta["namespace"].as_str().unwrap().to_owned();
    let name = meta["name"].as_str().unwrap_or_default().to_owned();
    match object["kind"].as_str().unwrap() {
        "Namespace" => {
            world.namespaces.insert(name, read(object));
        }
        "ProxyUnwrap" => {
            object["apiVersion"] = "proxyunwrap.dev/v1alpha1".into();
            world
                .unwraps
                .entry(namespace)
                .or_default()
                .push(read(object));
        }
        "Service" => world
            .services
            .entry(namespace)
            .or_default()
            .push(read(object)),
        "Pod" => world.pods.entry(namespace).or_default().push(read(object)),
        "Node" => world.nodes.push(read(object)),
        kind => {
            let kind: TargetKind = serde_json::from_value(kind.into()).unwrap();
            let uid = String::new();
            let workload = Workload { kind, name, uid };
            world.workloads.entry(namespace).or_default().push(workload);
        }
    }
}

fn read<T: DeserializeOwned>(object: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(object).unwrap())
}

pub(super) fn settings(more: &str) -> Settings {
    let yaml = format!(
        "{{trustedPeers: [192.0.2.0/24], dataplane: {{image: dataplane}},
          webhook: {{configuration: c, service: s, secret: t}}{more}}}"
    );
    serde_saphyr::from_str(&yaml).unwrap()
}

/// As it comes to the webhook: no namespace, no name.
pub(super) fn pod(metadata: &str) -> Pod {
    serde_saphyr::from_str(&format!("metadata: {metadata}")).unwrap()
}

/// A pod with the label `app: web` and these annotations of our group.
pub(super) fn web(annotations: &[(&str, &str)]) -> Pod {
    let mut pod = pod("{generateName: web-, labels: {app: web}}");
    for (key, text) in annotations {
        let key = format!("proxyunwrap.dev/{key}");
        pod.annotations_mut().insert(key, (*text).to_owned());
    }
    pod
}

pub(super) fn governed(pod: &Pod, world: &World) -> Policy {
    match select(pod, NAMESPACE, world, &settings("")) {
        Selection::Governed(policy) => *policy,
        other => panic!("not governed: {other:?}"),
    }
}

#[track_caller]
pub(super) fn check(pod: &Pod, world: &World, want: &str) {
    assert_eq!(text(&select(pod, NAMESPACE, world, &settings(""))), want);
}

pub(super) fn text(selection: &Selection) -> String {
    match selection {
        Selection::NotMeant => "not meant".to_owned(),
        Selection::Disabled => "disabled".to_owned(),
        Selection::Refused(refusal) => refusal.to_string(),
        Selection::Governed(policy) => {
            let ports = policy.spec.ports.as_ref();
            let ports = ports.map(|ports| ports.iter().map(port).collect::<Vec<_>>().join(" "));
            format!(
                "{} at {}",
                policy.origin,
                ports.unwrap_or_else(|| "its port".to_owned())
            )
        }
    }
}

fn port(port: &Port) -> String {
    let number = port.port.map(|number| number.to_string());
    let which = port.name.clone().or(number).unwrap();
    match port.app.as_ref().and_then(|app| app.port) {
        Some(app) => format!("{which}:{app}"),
        None => which,
    }
}

/// As in a configuration.
pub(super) fn networks(networks: &Networks) -> String {
    let lists = [
        ("require", &networks.require),
        ("optional", &networks.optional),
        ("forbid", &networks.forbid),
        ("pass", &networks.pass),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let lists: Vec<_> = lists
        .map(|(name, list)| {
            let list: Vec<_> = list.iter().map(ToString::to_string).collect();
            format!("{name} {}", list.join(" "))
        })
        .collect();
    lists.join("; ")
}
