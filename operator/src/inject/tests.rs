use std::collections::BTreeSet;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Pod;
use proxyunwrap_api::ProxyUnwrapSpec;
use proxyunwrap_api::ports::Port;
use serde_json::{Value, json};

use super::*;
use crate::policy::{Networks, Origin};
use crate::refusal::Reason;

fn pod() -> Value {
    json!({
        "metadata": { "name": "web-1" },
        "spec": { "containers": [{ "name": "web", "ports": [{ "name": "http", "containerPort": 8080 }] }] },
    })
}

fn settings() -> Settings {
    serde_json::from_value(json!({
        "trustedPeers": ["10.0.0.0/8"],
        "dataplane": { "image": "dataplane:1" },
        "webhook": { "configuration": "c", "service": "s", "secret": "x" },
    }))
    .unwrap()
}

fn policy(spec: Value) -> Policy {
    let spec: ProxyUnwrapSpec = serde_json::from_value(spec).unwrap();
    let ports = spec.ports.as_ref().map_or(0, Vec::len);
    Policy {
        origin: Origin::Pod,
        spec,
        peers: networks(&["10.0.0.0/8"]),
        port_peers: vec![None; ports],
    }
}

fn networks(require: &[&str]) -> Networks {
    Networks {
        require: require
            .iter()
            .map(|network| network.parse().unwrap())
            .collect(),
        ..Networks::default()
    }
}

fn planned(policy: &Policy) -> Injection {
    plan(&seen(&pod()).unwrap(), policy, &settings()).unwrap()
}

#[test]
fn the_hash_of_an_injection_outlives_releases() {
    // Another number makes every pod of every cluster outdated at the next upgrade.
    assert_eq!(hash(&planned(&policy(json!({})))), "2f7ab18cc652615e");
}

#[test]
fn what_can_change_in_a_running_pod_is_not_hashed() {
    let mut changed = policy(json!({
        "header": { "timeout": "9s" },
        "claims": { "refuse": ["192.0.2.0/24"] },
        "timeouts": { "idle": "1h" },
        "missingFamily": "Unspoofed",
        "limits": { "connections": 9 },
        "accessLog": { "mode": "All" },
        "drain": { "timeout": "9s" },
        "rollout": { "strategy": "RestartOutdated" },
    }));
    changed.origin = Origin::Service("web".to_owned());
    changed.peers = networks(&["192.0.2.0/24"]);
    let before = policy(json!({}));
    assert_eq!(hash(&planned(&changed)), hash(&planned(&before)));
    let [before, after] = [before, changed].map(|policy| config(&planned(&policy), &policy));
    assert_ne!(before, after);
}

#[test]
fn what_cannot_change_in_a_running_pod_is_hashed() {
    let mut hashes = BTreeSet::from([hash(&planned(&policy(json!({}))))]);
    for spec in [
        json!({ "ports": [{ "port": 8080 }] }),
        json!({ "ports": [{ "name": "http", "app": { "port": 8081 } }] }),
        json!({ "dataplane": { "image": "dataplane:2" } }),
        json!({ "dataplane": { "imagePullPolicy": "Always" } }),
        json!({ "dataplane": { "resources": { "requests": { "cpu": "20m" } } } }),
        json!({ "dataplane": { "logLevel": "debug" } }),
        json!({ "dataplane": { "workers": 2 } }),
        json!({ "dataplane": { "rewriteProbes": false } }),
        json!({ "steering": "Inet" }),
        json!({ "sourceMode": "Transparent" }),
        json!({ "drain": { "wait": "9s" } }),
    ] {
        assert!(
            hashes.insert(hash(&planned(&policy(spec.clone())))),
            "{spec}"
        );
    }
}

#[test]
fn a_port_that_the_policy_does_not_name_any_more_goes_on_by_what_is_said_for_all() {
    let mut policy = policy(json!({ "ports": [{ "port": 9090, "timeouts": { "idle": "1h" } }] }));
    policy.port_peers = vec![Some(networks(&["192.0.2.0/24"]))];
    let port = |name: &str, port, listen| InjectedPort {
        name: name.to_owned(),
        port,
        listen,
    };
    let text = config_for(
        &[port("http", 8080, 15001), port("9090", 9090, 15002)],
        &policy,
    );
    let file: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(file["ports"][0]["peers"]["require"], json!(["10.0.0.0/8"]));
    assert_eq!(file["ports"][0]["timeouts"], json!({ "connect": "5s" }));
    assert_eq!(
        file["ports"][1]["peers"]["require"],
        json!(["192.0.2.0/24"])
    );
    assert_eq!(file["ports"][1]["timeouts"]["idle"], "1h");
}

#[test]
fn a_list_of_nobody_lets_nobody_in() {
    let mut policy = policy(json!({}));
    policy.peers = Networks::default();
    let file: Value = serde_saphyr::from_str(&config(&planned(&policy), &policy)).unwrap();
    assert_eq!(
        file["ports"][0]["peers"],
        json!({ "require": ["0.0.0.0/32"] })
    );
}

#[test]
fn a_configuration_that_no_annotation_holds_is_refused() {
    let mut policy = policy(json!({}));
    policy.spec.ports = Some(
        (8000..8032)
            .map(|port| Port {
                port: Some(port),
                ..Port::default()
            })
            .collect(),
    );
    let seen = seen(&pod()).unwrap();
    assert!(plan(&seen, &policy, &settings()).is_ok());
    let hosts = (0..1000_u32).map(|host| {
        IpNet::from(std::net::IpAddr::from(
            (0x0a00_0000 + 2 * host).to_be_bytes(),
        ))
    });
    policy.peers.require = hosts.collect();
    let refusal = plan(&seen, &policy, &settings()).unwrap_err();
    assert_eq!(refusal.reason, Reason::InvalidPolicy);
}

#[test]
fn annotations_that_leave_no_room_are_refused() {
    let mut pod = pod();
    pod["metadata"]["annotations"] = json!({ "notes": "x".repeat(262_000) });
    let refusal = patch(&pod, &policy(json!({})), &settings()).unwrap_err();
    assert_eq!(refusal.reason, Reason::InvalidPolicy);
}

#[test]
fn a_mark_is_all_that_is_changed() {
    let once = mark(&pod(), "proxyunwrap.dev/refused", "HostNetwork: so");
    let mut marked = pod();
    json_patch::patch(&mut marked, &once).unwrap();
    let mut want = pod();
    want["metadata"]["annotations"] = json!({ "proxyunwrap.dev/refused": "HostNetwork: so" });
    assert_eq!(marked, want);
    assert!(mark(&marked, "proxyunwrap.dev/refused", "HostNetwork: so").is_empty());
    assert!(mark(&json!([]), "proxyunwrap.dev/refused", "HostNetwork: so").is_empty());
}

#[test]
fn a_trimmed_pod_has_the_plan_of_the_whole() {
    let mut whole = pod();
    whole["spec"]["nodeSelector"] = json!({ "kubernetes.io/os": "linux" });
    whole["status"] = json!({ "phase": "Running" });
    let typed: Pod = serde_json::from_value(whole.clone()).unwrap();
    let policy = policy(json!({}));
    let plan = |pod: &Pod| plan(pod, &policy, &settings());
    assert_eq!(plan(&typed), plan(&seen(&whole).unwrap()));
}
