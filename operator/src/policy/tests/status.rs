//! What is wrong with a resource, whatever its pods.

use super::fixture::{NAMESPACE, settings, world};
use crate::policy::{is_annotated, problems};

#[track_caller]
fn check(others: &str, spec: &str, want: &[&str]) {
    let resource = format!("kind: ProxyUnwrap\nmetadata: {{name: a}}\nspec: {{{spec}}}");
    let mut world = world(&format!("{resource}\n---\n{others}"));
    let unwrap = world.unwraps.remove(NAMESPACE).unwrap().remove(0);
    let said = problems(&unwrap, &world, &settings(""));
    let said = said
        .iter()
        .map(|one| format!("{:?}: {}", one.kind, one.message));
    assert_eq!(said.collect::<Vec<_>>(), want);
}

const THERE: &str = "
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: quic, port: 443, protocol: UDP}]}
---
kind: Service
metadata: {name: outside}
spec: {type: ExternalName, ports: [{port: 80}]}
---
kind: Deployment
metadata: {name: web}
---
kind: StatefulSet
metadata: {name: elsewhere, namespace: bank}";

#[test]
fn a_resource_whose_references_lead_somewhere_has_no_problem() {
    check(
        THERE,
        "targetRefs: [{kind: Service, name: web, sectionName: http}, {kind: Deployment, name: web}]",
        &[],
    );
}

#[test]
fn every_target_that_is_missing_is_named() {
    check(
        THERE,
        "targetRefs: [{kind: Service, name: gone}, {kind: Service, name: outside}, {kind: Service, name: web, sectionName: x},
          {kind: Service, name: web, sectionName: quic}, {kind: StatefulSet, name: web}, {kind: StatefulSet, name: elsewhere}]",
        &[
            "TargetNotFound: targetRefs[0]: Service gone does not exist",
            "TargetNotFound: targetRefs[1]: Service outside has no selector, so it leads to no pods",
            "TargetNotFound: targetRefs[2]: Service web has no port x; it has http (80), quic (443)",
            "TargetNotFound: targetRefs[3]: Service web: port quic (443) speaks UDP; only TCP can be unwrapped",
            "TargetNotFound: targetRefs[4]: StatefulSet web does not exist",
            "TargetNotFound: targetRefs[5]: StatefulSet elsewhere does not exist",
        ],
    );
}

#[test]
fn mistakes_stand_first_and_references_of_every_list_are_named() {
    check(
        THERE,
        "selector: {matchExpressions: [{key: app, operator: Equals, values: [web]}]},
         trustedPeers: [{nodes: {}}], ports: [{port: 80, trustedPeers: [{nodes: {selector: {matchLabels: {a: b}}}}]}]",
        &[
            "Invalid: selector: matchExpressions for app: operator \"Equals\" is none of In, NotIn, Exists and DoesNotExist",
            "NoTrustedPeers: trustedPeers: no node has an address",
            "NoTrustedPeers: ports[0].trustedPeers: no node with a=b has an address",
        ],
    );
}

#[test]
fn a_service_asks_by_inject_or_ports_unless_it_says_no() {
    for (annotations, want) in [
        ("{}", false),
        ("{proxyunwrap.dev/trusted-peers: nodes}", false),
        ("{proxyunwrap.dev/inject: 'true'}", true),
        ("{proxyunwrap.dev/ports: '80'}", true),
        ("{proxyunwrap.dev/inject: perhaps}", true),
        (
            "{proxyunwrap.dev/inject: 'false', proxyunwrap.dev/ports: '80'}",
            false,
        ),
    ] {
        let yaml = format!("metadata: {{annotations: {annotations}}}");
        assert_eq!(
            is_annotated(&serde_saphyr::from_str(&yaml).unwrap()),
            want,
            "{yaml}"
        );
    }
}
