//! Which ports of a pod are unwrapped.

use super::fixture::{check, web, world};

/// A Service of `app: web` with these ports, and with annotations or as the target of a resource.
fn service(annotations: &str, ports: &str) -> String {
    format!(
        "kind: Service\nmetadata: {{name: web, annotations: {{{annotations}}}}}\nspec: {{selector: {{app: web}}, ports: [{ports}]}}"
    )
}

fn targets(refs: &str, more: &str) -> String {
    format!("kind: ProxyUnwrap\nmetadata: {{name: a}}\nspec: {{targetRefs: [{refs}]{more}}}")
}

const PORTS: &str = "{name: http, port: 80, targetPort: web}, {name: https, port: 443, targetPort: 8443},
  {name: raw, port: 9000}, {name: quic, port: 443, protocol: UDP, targetPort: 8443}, {name: sctp, port: 7, protocol: SCTP}";

const INJECT: &str = "proxyunwrap.dev/inject: 'true'";

#[track_caller]
fn by_annotation(annotations: &str, ports: &str, want: &str) {
    check(&web(&[]), &world(&service(annotations, ports)), want);
}

#[track_caller]
fn by_target(target: &str, ports: &str, want: &str) {
    let yaml = [service("", ports), targets(target, "")].join("\n---\n");
    check(&web(&[]), &world(&yaml), want);
}

#[test]
fn a_service_leads_to_its_target_ports_of_tcp_and_names_stay_names() {
    by_annotation(INJECT, PORTS, "Service web at web 8443 9000");
    by_target(
        "{kind: Service, name: web}",
        PORTS,
        "ProxyUnwrap a at web 8443 9000",
    );
}

#[test]
fn single_ports_of_a_service_are_told_by_name_or_by_number() {
    by_annotation(
        "proxyunwrap.dev/ports: 'raw, 80:8081'",
        PORTS,
        "Service web at 9000 web:8081",
    );
    // The number is there for UDP, too.
    by_annotation("proxyunwrap.dev/ports: '443'", PORTS, "Service web at 8443");
    by_target(
        "{kind: Service, name: web, sectionName: https}",
        PORTS,
        "ProxyUnwrap a at 8443",
    );
}

#[test]
fn a_port_that_the_service_lacks_is_refused_with_those_that_there_are() {
    by_annotation(
        "proxyunwrap.dev/ports: '8443'",
        "{name: http, port: 80}, {port: 443}",
        "InvalidAnnotation: Service web has no port 8443; it has http (80), 443",
    );
    by_target(
        "{kind: Service, name: web, sectionName: x}",
        "",
        "InvalidPolicy: Service web has no port x; it has none",
    );
}

#[test]
fn udp_is_refused_where_it_is_named_or_alone() {
    let udp = "UdpPort: Service web: port quic (443) speaks UDP; only TCP can be unwrapped";
    let alone = "{name: quic, port: 443, protocol: UDP}";
    by_annotation("proxyunwrap.dev/ports: quic", PORTS, udp);
    by_target("{kind: Service, name: web, sectionName: quic}", PORTS, udp);
    by_annotation(INJECT, alone, udp);
    by_target("{kind: Service, name: web}", alone, udp);
}

#[test]
fn a_service_without_ports_leaves_it_to_the_pod() {
    by_annotation(INJECT, "", "Service web at its port");
    by_target(
        "{kind: Service, name: web}",
        "",
        "ProxyUnwrap a at its port",
    );
}

#[test]
fn more_ports_than_a_resource_may_name_are_refused() {
    let ports: Vec<_> = (1..=33)
        .map(|port| format!("{{name: p{port}, port: {port}}}"))
        .collect();
    let ports = ports.join(", ");
    let want = "33 ports are more than 32; name those to unwrap";
    by_annotation(
        INJECT,
        &ports,
        &format!("InvalidAnnotation: Service web: {want}"),
    );
    by_target(
        "{kind: Service, name: web}",
        &ports,
        &format!("InvalidPolicy: ProxyUnwrap a: {want}"),
    );
}

#[test]
fn targets_together_lead_to_their_ports_together_once_each() {
    let other = "kind: Service\nmetadata: {name: admin}\nspec: {selector: {app: web}, ports: [{port: 81, targetPort: web}, {port: 82, targetPort: 9100}]}";
    let apart = "kind: Service\nmetadata: {name: apart}\nspec: {selector: {app: api}, ports: [{port: 83, targetPort: 9200}]}";
    let refs = "{kind: Service, name: web}, {kind: Service, name: admin}, {kind: Service, name: apart}, {kind: Service, name: gone}, {kind: Deployment, name: web}";
    let yaml = [&service("", PORTS), other, apart, &targets(refs, "")].join("\n---\n");
    check(
        &web(&[]),
        &world(&yaml),
        "ProxyUnwrap a at web 8443 9000 9100",
    );
}

#[test]
fn ports_of_the_resource_stand_before_those_of_its_targets_and_those_of_the_pod_before_all() {
    let udp = service("", "{name: quic, port: 443, protocol: UDP}");
    let target = targets("{kind: Service, name: web}", ", ports: [{name: own}]");
    let world = world(&[udp, target].join("\n---\n"));
    check(&web(&[]), &world, "ProxyUnwrap a at own");
    check(&web(&[("ports", "9443")]), &world, "ProxyUnwrap a at 9443");
}

#[test]
fn a_pods_ports_stand_before_those_of_the_service_that_governs_it() {
    let world = world(&service(INJECT, "{name: quic, port: 443, protocol: UDP}"));
    check(&web(&[("ports", "9443")]), &world, "Service web at 9443");
}
