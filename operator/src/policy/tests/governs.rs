//! Who governs a pod.

use super::fixture::{NAMESPACE, check, pod, settings, text, web, world};
use crate::policy::{means, select, served};
use crate::world::World;

const SELECTOR: &str = "
kind: ProxyUnwrap
metadata: {name: young, creationTimestamp: 2026}
spec: {selector: {matchLabels: {app: web}}, ports: [{name: young}]}
---
kind: ProxyUnwrap
metadata: {name: old, creationTimestamp: 2025}
spec: {selector: {matchLabels: {app: web}}, ports: [{name: old}]}
---
kind: ProxyUnwrap
metadata: {name: other, creationTimestamp: 2024}
spec: {selector: {matchLabels: {app: api}}, ports: [{name: other}]}
---
kind: ProxyUnwrap
metadata: {name: elsewhere, namespace: bank, creationTimestamp: 2023}
spec: {selector: {matchLabels: {app: web}}, ports: [{name: elsewhere}]}
---
kind: Service
metadata: {name: older, creationTimestamp: 2022, annotations: {proxyunwrap.dev/inject: 'true'}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: service}]}";

#[test]
fn nobody_governs_a_pod_that_nobody_means() {
    check(&web(&[]), &World::default(), "not meant");
    check(
        &web(&[("header-timeout", "5s")]),
        &World::default(),
        "not meant",
    );
    check(&pod("{}"), &world(SELECTOR), "not meant");
}

#[test]
fn a_pod_that_says_no_is_left_alone_whoever_means_it_and_whatever_else_it_says() {
    for more in [("unwrap", "old"), ("ports", "http"), ("nonsense", "x")] {
        check(
            &web(&[("inject", "false"), more]),
            &world(SELECTOR),
            "disabled",
        );
    }
}

#[test]
fn the_resource_that_a_pod_names_governs_it_whatever_it_selects() {
    check(
        &web(&[("unwrap", "other")]),
        &world(SELECTOR),
        "ProxyUnwrap other at other",
    );
}

#[test]
fn a_name_of_no_resource_is_refused() {
    check(
        &web(&[("unwrap", "elsewhere"), ("inject", "true")]),
        &world(SELECTOR),
        "PolicyNotFound: ProxyUnwrap elsewhere, which annotation proxyunwrap.dev/unwrap names, does not exist in namespace shop; create it or correct the name",
    );
}

#[test]
fn the_oldest_resource_governs_before_any_service() {
    check(&web(&[]), &world(SELECTOR), "ProxyUnwrap old at old");
}

#[test]
fn of_the_same_age_the_first_by_name_governs_and_one_without_age_is_young() {
    let twin = |name: &str, year: &str| {
        format!(
            "kind: ProxyUnwrap\nmetadata: {{name: {name}{year}}}\nspec: {{selector: {{matchLabels: {{app: web}}}}}}"
        )
    };
    let year = ", creationTimestamp: 2025";
    let all = [twin("a", ""), twin("c", year), twin("b", year)].join("\n---\n");
    check(&web(&[]), &world(&all), "ProxyUnwrap b at its port");
}

#[test]
fn an_empty_or_unreadable_selector_means_nobody() {
    for selector in [
        "{}",
        "{matchExpressions: [{key: app, operator: has, values: [web]}]}",
    ] {
        let yaml =
            format!("kind: ProxyUnwrap\nmetadata: {{name: a}}\nspec: {{selector: {selector}}}");
        check(&web(&[]), &world(&yaml), "not meant");
    }
}

const SERVICES: &str = "
kind: Service
metadata: {name: plain, creationTimestamp: 2020}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: plain}]}
---
kind: Service
metadata: {name: declines, creationTimestamp: 2021, annotations: {proxyunwrap.dev/inject: 'False', proxyunwrap.dev/ports: '80'}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: declines}]}
---
kind: Service
metadata: {name: nobody, creationTimestamp: 2022, annotations: {proxyunwrap.dev/inject: 'true'}}
spec: {ports: [{port: 80, targetPort: nobody}]}
---
kind: Service
metadata: {name: young, creationTimestamp: 2026, annotations: {proxyunwrap.dev/inject: 'true'}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: young}]}
---
kind: Service
metadata: {name: old, creationTimestamp: 2025, annotations: {proxyunwrap.dev/ports: '80'}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: old}]}";

#[test]
fn the_oldest_annotated_service_that_selects_a_pod_governs_it_before_its_own_annotations() {
    let world = world(SERVICES);
    check(&web(&[]), &world, "Service old at old");
    check(&web(&[("inject", "true")]), &world, "Service old at old");
}

#[test]
fn a_pod_governs_itself_by_inject_or_ports() {
    let world = World::default();
    check(&web(&[("inject", "true")]), &world, "pod at its port");
    check(
        &web(&[("ports", "http, 8443:9443")]),
        &world,
        "pod at http 8443:9443",
    );
}

#[test]
fn a_mistake_in_an_annotation_is_refused_on_the_pod_and_on_the_service_that_governs_it() {
    check(
        &web(&[("inject", "true"), ("trusted-cidrs", "10.0.0.0/8")]),
        &World::default(),
        "InvalidAnnotation: annotation proxyunwrap.dev/trusted-cidrs is not known; did you mean proxyunwrap.dev/trusted-peers?",
    );
    let service = "
kind: Service
metadata: {name: old, annotations: {proxyunwrap.dev/ports: '80', proxyunwrap.dev/unwrap: web}}
spec: {selector: {app: web}, ports: [{port: 80}]}";
    check(
        &web(&[]),
        &world(service),
        "InvalidAnnotation: Service old: annotation proxyunwrap.dev/unwrap is for pods; on a Service it means nothing",
    );
}

#[test]
fn a_deployment_is_told_by_the_replica_set_in_front_of_its_hash() {
    let target = "kind: ProxyUnwrap\nmetadata: {name: a}\nspec: {targetRefs: [{kind: Deployment, name: web}]}";
    let of = |owner: &str, hash: &str| {
        pod(&format!(
            "{{labels: {{pod-template-hash: {hash}}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: {owner}, uid: u, controller: true}}]}}"
        ))
    };
    let world = world(target);
    check(&of("web-5d9c", "5d9c"), &world, "ProxyUnwrap a at its port");
    // Another Deployment, `web-front`, and a ReplicaSet that a person named so.
    check(&of("web-front-5d9c", "5d9c"), &world, "not meant");
    check(&of("web-5d9c", "77aa"), &world, "not meant");
}

#[test]
fn stateful_and_daemon_sets_are_told_by_the_owner_that_controls() {
    for kind in ["StatefulSet", "DaemonSet"] {
        let target = format!(
            "kind: ProxyUnwrap\nmetadata: {{name: a}}\nspec: {{targetRefs: [{{kind: {kind}, name: db}}]}}"
        );
        let world = world(&target);
        for (owner, want) in [
            (
                format!("apiVersion: apps/v1, kind: {kind}, name: db, controller: true"),
                "ProxyUnwrap a at its port",
            ),
            (
                format!("apiVersion: apps/v1, kind: {kind}, name: db-2, controller: true"),
                "not meant",
            ),
            (
                format!("apiVersion: apps/v1, kind: {kind}, name: db"),
                "not meant",
            ),
            (
                format!("apiVersion: example.com/v1, kind: {kind}, name: db, controller: true"),
                "not meant",
            ),
            (
                "apiVersion: apps/v1, kind: ReplicaSet, name: db, controller: true".to_owned(),
                "not meant",
            ),
        ] {
            check(
                &pod(&format!("{{ownerReferences: [{{{owner}, uid: u}}]}}")),
                &world,
                want,
            );
        }
    }
}

#[test]
fn a_resource_means_no_pod_of_another_namespace_and_every_pod_that_names_it() {
    let world = world(SELECTOR);
    let old = &world.unwraps[NAMESPACE][1];
    let mut elsewhere = web(&[]);
    elsewhere.metadata.namespace = Some("bank".to_owned());
    assert!(means(old, &web(&[]), &world));
    assert!(!means(old, &elsewhere, &world));
    assert!(means(
        old,
        &pod("{annotations: {proxyunwrap.dev/unwrap: old}}"),
        &world
    ));
}

const NAMESPACES: &str = "
kind: Namespace
metadata: {name: opened, labels: {proxyunwrap.dev/injection: enabled}}
---
kind: Namespace
metadata: {name: closed, labels: {proxyunwrap.dev/injection: disabled}}
---
kind: Namespace
metadata: {name: silent, labels: {proxyunwrap.dev/injection: perhaps}}";

#[test]
fn a_namespace_is_served_as_it_and_the_installation_say() {
    let world = world(NAMESPACES);
    let out = settings(", namespaces: {exclude: [operators]}");
    let only = settings(", namespaces: {mode: OptIn, exclude: [operators]}");
    for (namespace, unless_out, only_in) in [
        ("opened", true, true),
        ("closed", false, false),
        ("silent", true, false),
        ("unknown", true, false),
        ("operators", false, false),
        ("kube-system", false, false),
        ("kube-node-lease", false, false),
    ] {
        assert_eq!(served(namespace, &world, &out), unless_out, "{namespace}");
        assert_eq!(served(namespace, &world, &only), only_in, "{namespace}");
    }
}

#[test]
fn where_nobody_is_served_pods_that_are_meant_are_disabled_and_others_none_of_our_business() {
    let resource = "kind: ProxyUnwrap\nmetadata: {name: a, namespace: closed}\nspec: {selector: {matchLabels: {app: web}}}";
    let world = world(&format!("{NAMESPACES}\n---\n{resource}"));
    let said = |pod| text(&select(&pod, "closed", &world, &settings("")));
    assert_eq!(said(web(&[])), "disabled");
    assert_eq!(
        said(pod("{annotations: {proxyunwrap.dev/ports: '?'}}")),
        "disabled"
    );
    assert_eq!(
        said(pod("{annotations: {proxyunwrap.dev/nonsense: x}}")),
        "not meant"
    );
    assert_eq!(said(pod("{}")), "not meant");
}
