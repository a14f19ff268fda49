//! Promise: a `ProxyUnwrap` finds its pods by their labels, and their ports by name, by number, or by
//! both.

use proxyunwrap_e2e::cluster::{FAMILIES, Journey, Manifest, Unwrap, in_namespace};

/// A name, the ports that its resource names, and the Service's ports that are unwrapped by that.
const APPS: [(&str, &str, &[&str]); 3] = [
    ("by-name", "[{name: web}]", &["http"]),
    ("by-number", "[{port: 8081}]", &["more"]),
    (
        "by-both",
        "[{name: other}, {port: 8080}]",
        &["http", "more"],
    ),
];

#[tokio::test]
async fn pods_with_the_labels_see_their_clients() -> anyhow::Result<()> {
    in_namespace(async |space| {
        for (name, ports, _) in APPS {
            let spec = format!("{{selector: {{matchLabels: {{app: {name}}}}}, ports: {ports}}}");
            Unwrap::apply(space, name, &spec).await?;
        }
        space.managed().await?;
        for (name, ..) in APPS {
            let values = [("kind", "Deployment"), ("name", name)];
            space
                .apply(&Manifest::read("workload.yaml", &values)?)
                .await?;
            let values = [("name", name), ("annotations", "{}")];
            space
                .apply(&Manifest::read("service.yaml", &values)?)
                .await?;
        }

        let (mut unwrapped, mut untouched) = (Vec::new(), Vec::new());
        for (name, _, ports) in APPS {
            space.ready_pods(&format!("app={name}"), 1).await?;
            for port in ["http", "more"] {
                for ipv6 in FAMILIES {
                    let server = space.service_port(name, Some(port), ipv6).await?;
                    match ports.contains(&port) {
                        true => unwrapped.push((name, server)),
                        false => untouched.push((name, server)),
                    }
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
        Ok(())
    })
    .await
}
