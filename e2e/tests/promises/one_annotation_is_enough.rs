//! Promise: after `helm install`, one annotation on a Deployment's template is all it takes: the app
//! sees its clients, in both families, and its other port is its own as before.

use proxyunwrap_e2e::cluster::{FAMILIES, Journey, Manifest, in_namespace};

#[tokio::test]
async fn a_deployment_with_one_annotation_sees_its_clients() -> anyhow::Result<()> {
    in_namespace(async |space| {
        let values = [("kind", "Deployment"), ("name", "app")];
        let app = Manifest::read("workload.yaml", &values)?;
        let app = app.annotated("proxyunwrap.dev/ports", "web");
        space.apply(&app).await?;
        let values = [("name", "app"), ("annotations", "{}")];
        space
            .apply(&Manifest::read("service.yaml", &values)?)
            .await?;
        let pod = space.ready_pods("app=app", 1).await?.remove(0);

        let port = space.node_port("app").await?;
        let mut servers = Vec::new();
        for ipv6 in FAMILIES {
            servers.push(space.service("app", ipv6).await?);
            servers.push((pod.node_address(ipv6).await?, port).into());
        }
        let journey = Journey::start(space, servers.clone()).await?;
        for server in servers {
            journey.shows_the_client("the Deployment", server).await?;
        }
        for ipv6 in FAMILIES {
            let other = space.service_port("app", Some("more"), ipv6).await?;
            journey.is_untouched("its other port", other).await?;
        }
        Ok(())
    })
    .await
}
