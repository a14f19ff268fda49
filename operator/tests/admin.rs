//! Promise: the admin port says whether a replica is ready, and why not.

mod support;

use std::sync::Arc;

use proxyunwrap_operator::admin::{self, Shown};
use proxyunwrap_operator::metrics::Metrics;
use proxyunwrap_operator::readiness::{Readiness, Trust};
use proxyunwrap_operator::watch::Stores;
use support::api::Api;
use support::wait::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Stand {
    address: std::net::SocketAddr,
    readiness: Readiness,
}

/// A replica whose world is whole.
async fn stand() -> Stand {
    let metrics = Arc::new(Metrics::default());
    let stores = Stores::default();
    tokio::spawn(
        stores
            .clone()
            .keep(Api::new().client(), Arc::clone(&metrics)),
    );
    until("everything is listed", || {
        stores.missing().is_empty().then_some(())
    })
    .await;
    let readiness = Readiness::new(stores);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shown = Shown {
        readiness: readiness.clone(),
        metrics,
    };
    tokio::spawn(admin::serve(listener, Arc::new(shown)));
    Stand { address, readiness }
}

impl Stand {
    async fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.strip_prefix("HTTP/1.1 ").unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_replica_is_ready_when_its_certificate_is_trusted_until_it_ends() {
    let stand = stand().await;
    let unready = stand.get("/readyz").await;
    assert!(
        unready.starts_with("503") && unready.contains("is not read yet"),
        "{unready}"
    );
    let why = "annotated.proxyunwrap.dev of pu names no CA yet";
    stand
        .readiness
        .set_certificate(Trust::Untrusted(why.to_owned()));
    let unready = stand.get("/readyz").await;
    assert!(
        unready.starts_with("503") && unready.contains(why),
        "{unready}"
    );
    assert!(
        stand
            .get("/metrics")
            .await
            .contains("\nproxyunwrap_operator_ready 0\n")
    );
    stand.readiness.set_certificate(Trust::Trusted);
    assert!(stand.get("/readyz").await.starts_with("200"));
    assert!(
        stand
            .get("/metrics")
            .await
            .contains("\nproxyunwrap_operator_ready 1\n")
    );
    stand.readiness.end();
    let unready = stand.get("/readyz").await;
    assert!(
        unready.starts_with("503") && unready.contains("is ending"),
        "{unready}"
    );
    assert!(
        stand.get("/livez").await.starts_with("200"),
        "alive all the same"
    );
}

#[tokio::test]
async fn half_a_world_is_not_ready() {
    let readiness = Readiness::new(Stores::default());
    readiness.set_certificate(Trust::Trusted);
    assert!(
        readiness
            .problems()
            .contains(&"pods are not listed yet".to_owned())
    );
}
