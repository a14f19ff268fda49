//! Promise: an annotation on a Service is enough, too: the pods that it selects are unwrapped at the
//! ports to which it leads, by name or by number, and nowhere else.

use proxyunwrap_e2e::cluster::{FAMILIES, Journey, Manifest, in_namespace};

/// A name, and what is written on the Service of this name.
const SERVICES: [(&str, &str); 3] = [
    ("both", r#"{proxyunwrap.dev/inject: "true"}"#),
    ("by-name", "{proxyunwrap.dev/ports: http}"),
    ("by-number", r#"{proxyunwrap.dev/ports: "81"}"#),
];

#[tokio::test]
async fn pods_of_an_annotated_service_see_their_clients() -> anyhow::Result<()> {
    in_namespace(async |space| {
        for (name, annotations) in SERVICES {
            let values = [("name", name), ("annotations", annotations)];
            space
                .apply(&Manifest::read("service.yaml", &values)?)
                .await?;
        }
        space.managed().await?;
        for (name, _) in SERVICES {
            let values = [("kind", "Deployment"), ("name", name)];
            space
                .apply(&Manifest::read("workload.yaml", &values)?)
                .await?;
        }
        for (name, _) in SERVICES {
            space.ready_pods(&format!("app={name}"), 1).await?;
        }

        let (mut unwrapped, mut untouched) = (Vec::new(), Vec::new());
        for ipv6 in FAMILIES {
            // The target port is a name behind `http`, and a number behind `more`.
            for (name, port) in [
                ("both", "http"),
                ("both", "more"),
                ("by-name", "http"),
                ("by-number", "more"),
            ] {
                unwrapped.push(space.service_port(name, Some(port), ipv6).await?);
            }
            for (name, port) in [("by-name", "more"), ("by-number", "http")] {
                untouched.push(space.service_port(name, Some(port), ipv6).await?);
            }
        }
        let journey = Journey::start(space, unwrapped.clone()).await?;
        for server in unwrapped {
            journey
                .shows_the_client("the Service's port", server)
                .await?;
        }
        for server in untouched {
            journey
                .is_untouched("the Service's other port", server)
                .await?;
        }
        Ok(())
    })
    .await
}
