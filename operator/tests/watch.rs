//! Promise: the world is what the API server holds, through restarts and forgotten versions.

mod support;

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use proxyunwrap_operator::metrics::Metrics;
use proxyunwrap_operator::watch::{Changes, Stores};
use serde_json::{Value, json};
use support::api::Api;
use support::wait::until;

fn pod(ip: &str) -> Value {
    json!({
        "metadata": {
            "labels": { "app": "haproxy" },
            "managedFields": [{ "manager": "kubelet" }],
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "proxyunwrap.dev/inject": "true",
            },
        },
        "spec": {
            "volumes": [{ "name": "big" }],
            "containers": [{
                "name": "app", "image": "nginx", "command": ["nginx"],
                "env": [{ "name": "SECRET", "value": "1" }],
                "ports": [{ "containerPort": 8080 }],
            }],
        },
        "status": { "phase": "Running", "podIPs": [{ "ip": ip }], "containerStatuses": [] },
    })
}

/// A resource that trusts pods of `trusted`, by their label.
fn unwrap(trusted: &str) -> Value {
    json!({
        "apiVersion": "proxyunwrap.dev/v1alpha1", "kind": "ProxyUnwrap",
        "metadata": { "generation": 3 },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "trustedPeers": [{ "pods": {
                "selector": { "matchLabels": { "app": "haproxy" } },
                "namespaces": [trusted],
            } }],
        },
    })
}

const UNWRAPS: &str = "/apis/proxyunwrap.dev/v1alpha1/namespaces";

/// Stores that watch a server; they end with the test's runtime.
async fn watching(api: &Api) -> Stores {
    let stores = Stores::default();
    tokio::spawn(
        stores
            .clone()
            .keep(api.client(), Arc::new(Metrics::default())),
    );
    until("everything is listed", || {
        stores.missing().is_empty().then_some(())
    })
    .await;
    stores
}

fn pods(stores: &Stores, namespace: &str) -> Vec<String> {
    let world = stores.world();
    let pods = world.pods.get(namespace).into_iter().flatten();
    pods.map(|pod| pod.name_any()).collect()
}

#[tokio::test]
async fn an_object_is_there_when_the_watch_has_seen_it_and_gone_when_it_is_deleted() {
    let api = Api::new();
    api.put("/api/v1/namespaces/shop/pods/b", pod("10.0.0.2"));
    let stores = watching(&api).await;
    api.put("/api/v1/namespaces/shop/pods/a", pod("10.0.0.1"));
    until("a second pod", || {
        (pods(&stores, "shop") == ["a", "b"]).then_some(())
    })
    .await;
    let before = stores.world();
    api.delete("/api/v1/namespaces/shop/pods/b");
    until("it is gone", || {
        (pods(&stores, "shop") == ["a"]).then_some(())
    })
    .await;
    assert_eq!(before.pods["shop"].len(), 2, "a snapshot does not change");
    api.delete("/api/v1/namespaces/shop/pods/a");
    until("all are gone", || {
        stores.world().pods.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn of_a_pod_only_what_decides_is_kept() {
    let api = Api::new();
    api.put("/api/v1/namespaces/shop/pods/a", pod("10.0.0.1"));
    let stores = watching(&api).await;
    let world = stores.world();
    let kept = serde_json::to_value(&*world.pods["shop"][0]).unwrap();
    let want = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "shop", "labels": { "app": "haproxy" },
            "annotations": { "proxyunwrap.dev/inject": "true" },
        },
        "spec": { "containers": [{
            "name": "app", "image": "nginx", "ports": [{ "containerPort": 8080 }],
        }] },
        "status": { "phase": "Running", "podIPs": [{ "ip": "10.0.0.1" }] },
    });
    assert_eq!(kept, want);
}

#[tokio::test]
async fn a_server_that_was_away_and_forgot_is_caught_up_with() {
    let api = Api::new();
    api.put("/api/v1/namespaces/shop/pods/old", pod("10.0.0.1"));
    let stores = watching(&api).await;
    api.set_away(true);
    api.delete("/api/v1/namespaces/shop/pods/old");
    api.put("/api/v1/namespaces/shop/pods/new", pod("10.0.0.2"));
    api.forget();
    assert_eq!(
        pods(&stores, "shop"),
        ["old"],
        "what was known stays until then"
    );
    api.set_away(false);
    until("the new state", || {
        (pods(&stores, "shop") == ["new"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_is_listed_apart_and_stops_nothing() {
    let api = Api::new();
    api.put(&format!("{UNWRAPS}/shop/proxyunwraps/good"), unwrap("edge"));
    let stores = watching(&api).await;
    let mut bad = unwrap("edge");
    bad["spec"]["steering"] = json!("Telepathy");
    api.put(&format!("{UNWRAPS}/shop/proxyunwraps/bad"), bad);
    let unreadable = until("it is listed apart", || stores.unreadable().pop()).await;
    assert_eq!(
        (unreadable.name.as_str(), unreadable.generation),
        ("bad", Some(3))
    );
    assert!(
        unreadable.error.contains("Telepathy"),
        "{}",
        unreadable.error
    );
    assert_eq!(stores.world().unwraps["shop"].len(), 1);
    api.put(&format!("{UNWRAPS}/shop/proxyunwraps/bad"), unwrap("edge"));
    until("it was mended", || {
        stores.unreadable().is_empty().then_some(())
    })
    .await;
    assert_eq!(stores.world().unwraps["shop"].len(), 2);
    api.delete(&format!("{UNWRAPS}/shop/proxyunwraps/bad"));
    until("it is gone", || {
        (stores.world().unwraps["shop"].len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_balancers_new_address_is_a_change_where_it_is_trusted_and_its_new_phase_is_not() {
    let api = Api::new();
    api.put(&format!("{UNWRAPS}/shop/proxyunwraps/web"), unwrap("edge"));
    api.put(
        &format!("{UNWRAPS}/blog/proxyunwraps/web"),
        unwrap("elsewhere"),
    );
    api.put("/api/v1/namespaces/edge/pods/haproxy", pod("10.0.0.1"));
    let stores = watching(&api).await;
    stores.changes().await;

    api.put("/api/v1/namespaces/edge/pods/haproxy", pod("10.0.0.2"));
    let want = Changes {
        everything: false,
        namespaces: ["edge".to_owned(), "shop".to_owned()].into(),
    };
    assert_eq!(stores.changes().await, want);

    let mut pending = pod("10.0.0.2");
    pending["status"]["phase"] = json!("Pending");
    api.put("/api/v1/namespaces/edge/pods/haproxy", pending.clone());
    assert_eq!(stores.changes().await, Changes::of("edge"));

    pending["status"]["containerStatuses"] = json!([{ "name": "app", "restartCount": 1 }]);
    api.put("/api/v1/namespaces/edge/pods/haproxy", pending);
    let quiet = tokio::time::timeout(Duration::from_millis(100), stores.changes()).await;
    assert!(quiet.is_err(), "what is not kept is no change: {quiet:?}");

    api.delete("/api/v1/namespaces/edge/pods/haproxy");
    assert_eq!(stores.changes().await, want);
}

#[tokio::test]
async fn a_node_changes_everything_and_its_heartbeat_nothing() {
    let api = Api::new();
    let stores = watching(&api).await;
    let mut node =
        json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }] } });
    api.put("/api/v1/nodes/n1", node.clone());
    assert!(stores.changes().await.everything);
    node["status"]["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
    api.put("/api/v1/nodes/n1", node);
    let quiet = tokio::time::timeout(Duration::from_millis(100), stores.changes()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test]
async fn workloads_are_kept_by_kind_and_name() {
    let api = Api::new();
    for (plural, uid) in [
        ("deployments", "u1"),
        ("statefulsets", "u2"),
        ("daemonsets", "u3"),
    ] {
        let path = format!("/apis/apps/v1/namespaces/shop/{plural}/web");
        api.put(&path, json!({ "metadata": { "uid": uid } }));
    }
    let stores = watching(&api).await;
    let workloads = stores.world().workloads["shop"].clone();
    let mut uids: Vec<_> = workloads.into_iter().map(|one| one.uid).collect();
    uids.sort();
    assert_eq!(uids, ["u1", "u2", "u3"]);
    api.delete("/apis/apps/v1/namespaces/shop/statefulsets/web");
    until("one is gone", || {
        (stores.world().workloads["shop"].len() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_listed_is_named() {
    let api = Api::new();
    api.set_away(true);
    let stores = Stores::default();
    tokio::spawn(
        stores
            .clone()
            .keep(api.client(), Arc::new(Metrics::default())),
    );
    let missing = until("troubles are known", || {
        let missing = stores.missing();
        missing
            .iter()
            .all(|line| line.contains("could not be listed"))
            .then_some(missing)
    })
    .await;
    assert_eq!(missing.len(), 8);
    assert!(
        missing[0].starts_with("namespaces could not be listed:"),
        "{missing:?}"
    );
}
