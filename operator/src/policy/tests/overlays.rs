//! Annotations laid over what governs a pod.

use serde_json::{Value, json};

use super::fixture::{NAMESPACE, check, governed, settings, text, web, world};
use crate::policy::{Selection, select};
use crate::world::World;

const RESOURCE: &str = "
kind: ProxyUnwrap
metadata: {name: a}
spec:
  selector: {matchLabels: {app: web}}
  header: {timeout: 10s, tlvs: Skip}
  trustedPeers: [{cidrs: [10.0.0.0/8]}]
  ports:
  - {name: http, app: {ipv4: '127.0.0.2:80'}, trustedPeers: [{cidrs: [10.9.0.0/16]}]}
  - {port: 8443}";

fn spec(policy: &crate::policy::Policy) -> Value {
    serde_json::to_value(&policy.spec).unwrap()
}

#[test]
fn a_pod_says_otherwise_than_its_resource_for_itself_alone() {
    let world = world(RESOURCE);
    let changed = spec(&governed(&web(&[("header-timeout", "20s")]), &world));
    let mut want = spec(&governed(&web(&[]), &world));
    want["header"]["timeout"] = "20s".into();
    assert_eq!(changed, want);
}

#[test]
fn a_pod_stands_before_its_service_and_the_service_before_the_defaults() {
    let service = "
kind: Service
metadata: {name: web, annotations: {proxyunwrap.dev/ports: '80', proxyunwrap.dev/tlvs: skip, proxyunwrap.dev/idle-timeout: 1h}}
spec: {selector: {app: web}, ports: [{port: 80}]}";
    let said = spec(&governed(&web(&[("idle-timeout", "2h")]), &world(service)));
    assert_eq!(said["header"]["tlvs"], "Skip");
    assert_eq!(said["timeouts"], json!({"connect": "5s", "idle": "2h"}));
}

#[test]
fn a_port_that_pod_and_resource_name_keeps_what_the_resource_sets_for_it() {
    let policy = governed(&web(&[("ports", "9000,http")]), &world(RESOURCE));
    let ports = &spec(&policy)["ports"];
    assert_eq!(ports[0]["port"], 9000);
    assert_eq!(ports[1]["app"], json!({"ipv4": "127.0.0.2:80"}));
    assert_eq!(ports[1]["trustedPeers"][0]["cidrs"], json!(["10.9.0.0/16"]));
    let own = policy.port_peers.iter().map(Option::is_some);
    assert_eq!(own.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn the_apps_port_is_the_pods_where_it_says_one() {
    let policy = governed(&web(&[("ports", "http:8081")]), &world(RESOURCE));
    assert_eq!(spec(&policy)["ports"][0]["app"], json!({"port": 8081}));
}

#[test]
fn one_resource_that_is_said_leaves_the_operators_others_as_they_are() {
    let amounts =
        json!({"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}});
    let mut settings = settings("");
    settings.dataplane.resources = serde_json::from_value(amounts).unwrap();
    let said = |memory| {
        let pod = web(&[("inject", "true"), ("memory-request", memory)]);
        select(&pod, NAMESPACE, &World::default(), &settings)
    };
    let Selection::Governed(policy) = said("32Mi") else {
        panic!("not governed");
    };
    let want = json!({"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}});
    assert_eq!(spec(&policy)["dataplane"]["resources"], want);
    assert_eq!(
        text(&said("1Gi")),
        "InvalidAnnotation: pod: dataplane.resources: memory has a request of 1Gi above its limit of 64Mi"
    );
}

#[test]
fn resources_of_the_resource_stand_instead_of_the_operators() {
    let resource = "
kind: ProxyUnwrap
metadata: {name: a}
spec: {selector: {matchLabels: {app: web}}, dataplane: {resources: {limits: {memory: 128Mi}}}}";
    let policy = governed(&web(&[("cpu-request", "20m")]), &world(resource));
    let want = json!({"requests": {"cpu": "20m"}, "limits": {"memory": "128Mi"}});
    assert_eq!(spec(&policy)["dataplane"]["resources"], want);
}

#[test]
fn what_would_break_the_pod_is_refused_and_named() {
    for (field, want) in [
        (
            "ports: [{port: 80, app: {ipv4: '127.0.0.300:80'}}]",
            "ports[0].app: 127.0.0.300:80 is no address and port such as 127.0.0.1:8080 or [::1]:8080",
        ),
        (
            "ports: [{port: 80, app: {ipv4: '127.0.0.1:80', ipv6: '[::1]:99999'}}]",
            "ports[0].app: [::1]:99999 is no address and port such as 127.0.0.1:8080 or [::1]:8080",
        ),
        (
            "dataplane: {image: 'a b'}",
            "dataplane.image: \"a b\" has a blank in it",
        ),
        (
            "dataplane: {resources: {requests: {gpu: 1}}}",
            "dataplane.resources.requests: gpu is none of cpu, memory, ephemeral-storage",
        ),
        (
            "dataplane: {resources: {limits: {cpu: lots}}}",
            "dataplane.resources.limits: cpu: \"lots\" is no quantity such as 10m or 64Mi",
        ),
        (
            "dataplane: {resources: {requests: {cpu: 1}, limits: {cpu: 500m}}}",
            "dataplane.resources: cpu has a request of 1 above its limit of 500m",
        ),
    ] {
        let yaml = format!(
            "kind: ProxyUnwrap\nmetadata: {{name: a}}\nspec: {{selector: {{matchLabels: {{app: web}}}}, {field}}}"
        );
        let want = format!("InvalidPolicy: ProxyUnwrap a: {want}");
        check(&web(&[]), &world(&yaml), &want);
    }
}
