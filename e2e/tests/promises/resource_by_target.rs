//! Promise: a `ProxyUnwrap` finds its pods by the name of a Service, of one of its ports, of a
//! Deployment, a StatefulSet or a DaemonSet.

use std::net::SocketAddr;

use proxyunwrap_api::status::ConditionType;
use proxyunwrap_e2e::cluster::{FAMILIES, Journey, Manifest, Namespace, Unwrap, in_namespace};

struct App {
    /// Of everything that belongs to it.
    name: &'static str,
    /// Kind of the workload.
    kind: &'static str,
    /// What its resource names.
    spec: &'static str,
    /// Ports of its Service that are unwrapped by that.
    ports: &'static [&'static str],
}

const APPS: [App; 5] = [
    App {
        name: "service",
        kind: "Deployment",
        spec: "{targetRefs: [{kind: Service, name: service}]}",
        ports: &["http", "more"],
    },
    App {
        name: "section",
        kind: "Deployment",
        spec: "{targetRefs: [{kind: Service, name: section, sectionName: more}]}",
        ports: &["more"],
    },
    App {
        name: "deployment",
        kind: "Deployment",
        spec: "{targetRefs: [{group: apps, kind: Deployment, name: deployment}], ports: [{name: web}]}",
        ports: &["http"],
    },
    App {
        name: "statefulset",
        kind: "StatefulSet",
        spec: "{targetRefs: [{kind: StatefulSet, name: statefulset}], ports: [{port: 8080}]}",
        ports: &["http"],
    },
    App {
        name: "daemonset",
        kind: "DaemonSet",
        spec: "{targetRefs: [{kind: DaemonSet, name: daemonset}], ports: [{name: other}]}",
        ports: &["more"],
    },
];

#[tokio::test]
async fn pods_of_the_target_see_their_clients() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let resources = start(space).await?;
        let (mut unwrapped, mut untouched) = (Vec::new(), Vec::new());
        for app in &APPS {
            space.ready_pods(&format!("app={}", app.name), 1).await?;
            for (port, server) in servers(space, app.name).await? {
                match app.ports.contains(&port) {
                    true => unwrapped.push((app.name, server)),
                    false => untouched.push((app.name, server)),
                }
            }
        }
        let servers = unwrapped.iter().map(|(_, server)| *server).collect();
        let journey = Journey::start(space, servers).await?;
        for (name, server) in unwrapped {
            journey.shows_the_client(name, server).await?;
        }
        for (name, server) in untouched {
            journey.is_untouched(name, server).await?;
        }
        for resource in resources {
            resource.says(ConditionType::Ready, "True", "Ready").await?;
        }
        Ok(())
    })
    .await
}

/// Services first: a resource that targets one needs it when the pods are made.
async fn start(space: &Namespace) -> anyhow::Result<Vec<Unwrap>> {
    let mut resources = Vec::new();
    for app in &APPS {
        let values = [("name", app.name), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
        resources.push(Unwrap::apply(space, app.name, app.spec).await?);
    }
    for resource in &resources[..2] {
        let kind = ConditionType::ResolvedRefs;
        resource.says(kind, "True", "ResolvedRefs").await?;
    }
    space.managed().await?;
    for app in &APPS {
        let values = [("kind", app.kind), ("name", app.name)];
        space
            .apply(&Manifest::read("workload.yaml", &values)?)
            .await?;
    }
    Ok(resources)
}

/// The ports of a Service, each in both families.
async fn servers(space: &Namespace, name: &str) -> anyhow::Result<Vec<(&'static str, SocketAddr)>> {
    let mut servers = Vec::new();
    for port in ["http", "more"] {
        for ipv6 in FAMILIES {
            servers.push((port, space.service_port(name, Some(port), ipv6).await?));
        }
    }
    Ok(servers)
}
