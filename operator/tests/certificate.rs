//! Promise: there is always a certificate that is served and trusted, whoever breaks what.

mod support;

use std::time::Duration;

use proxyunwrap_operator::events::Kind;
use serde_json::json;
use support::api::Api;
use support::certificates::{CONFIGURATION, SECRET, authorities, bundle, decoded, install, lead};
use support::wait::until;

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn from_an_empty_secret_to_a_trusted_certificate() {
    let api = Api::new();
    install(&api);
    let mut replica = lead(&api);
    let loaded = until("trusted", || replica.trusted()).await;
    let left = loaded
        .expires
        .duration_since(std::time::SystemTime::now())
        .unwrap();
    assert!(left > DAY * 29 && left < DAY * 31, "{left:?}");
    let configuration = api.get(CONFIGURATION);
    let entries = configuration["webhooks"].as_array().unwrap();
    for entry in entries {
        assert_eq!(
            decoded(&entry["clientConfig"]["caBundle"]),
            bundle(&api),
            "every entry"
        );
        assert_eq!(
            entry["clientConfig"]["service"]["name"], "pu-webhook",
            "the rest stays"
        );
    }
    let notice = replica.notices.recv().await.unwrap();
    assert_eq!(notice.kind, Kind::WebhookCertificateRotated);
    assert_eq!(notice.regarding.name.as_deref(), Some("pu-tls"));
    assert!(
        notice.message.contains("the Secret is empty"),
        "{}",
        notice.message
    );
}

#[tokio::test]
async fn a_bundle_that_somebody_else_changes_is_put_back() {
    let api = Api::new();
    install(&api);
    let replica = lead(&api);
    until("trusted", || replica.trusted()).await;
    let good = bundle(&api);
    let mut configuration = api.get(CONFIGURATION);
    configuration["webhooks"][1]["clientConfig"]["caBundle"] = json!("AAAA");
    api.put(CONFIGURATION, configuration);
    until("put back", || {
        let second = &api.get(CONFIGURATION)["webhooks"][1]["clientConfig"]["caBundle"];
        (decoded(second) == good).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_made_anew() {
    let api = Api::new();
    install(&api);
    let mut replica = lead(&api);
    let first = until("trusted", || replica.trusted()).await;
    replica.notices.recv().await.unwrap();
    let mut secret = api.get(SECRET);
    secret["data"]["tls.crt"] = secret["data"]["ca.crt"].clone();
    api.put(SECRET, secret);
    let notice = replica.notices.recv().await.unwrap();
    assert!(
        notice.message.contains("do not go together"),
        "{}",
        notice.message
    );
    until("another one is trusted", || {
        replica.trusted().filter(|loaded| loaded.leaf != first.leaf)
    })
    .await;
}

#[tokio::test]
async fn a_leaf_is_made_anew_after_two_thirds_of_its_life_by_the_same_ca() {
    let api = Api::new();
    install(&api);
    let replica = lead(&api);
    let first = until("trusted", || replica.trusted()).await;
    let before = bundle(&api);
    replica.pass(&api, DAY * 19);
    replica.pass(&api, DAY);
    let second = until("a new leaf", || {
        replica.trusted().filter(|loaded| loaded.leaf != first.leaf)
    })
    .await;
    assert!(second.expires > first.expires + DAY * 19);
    assert_eq!(bundle(&api), before);
}

#[tokio::test]
async fn a_new_ca_is_trusted_first_used_later_and_the_old_one_goes_last() {
    let api = Api::new();
    install(&api);
    let mut replica = lead(&api);
    let first = until("trusted", || replica.trusted()).await;
    replica.notices.recv().await.unwrap();

    let mut secret = api.get(SECRET);
    secret["metadata"]["annotations"]["proxyunwrap.dev/rotate"] = json!("now");
    api.put(SECRET, secret);
    until("both are trusted", || {
        (authorities(&api) == 2).then_some(())
    })
    .await;
    let notice = replica.notices.recv().await.unwrap();
    assert!(
        notice.message.starts_with("made a new CA"),
        "{}",
        notice.message
    );
    let wish = &api.get(SECRET)["metadata"]["annotations"]["proxyunwrap.dev/rotate"];
    assert!(wish.is_null(), "the wish is fulfilled: {wish}");
    assert_eq!(replica.trusted().unwrap().leaf, first.leaf, "not used yet");

    let minute = Duration::from_secs(61);
    let second = replica
        .pass_until(&api, minute, "it is used", || {
            replica.trusted().filter(|loaded| loaded.leaf != first.leaf)
        })
        .await;
    assert_eq!(authorities(&api), 2, "the old one may be served elsewhere");

    replica.pass(&api, Duration::from_secs(3700));
    until("the old one is gone", || {
        (authorities(&api) == 1).then_some(())
    })
    .await;
    let last = until("still trusted", || replica.trusted()).await;
    assert_eq!(last.leaf, second.leaf);
}

#[tokio::test]
async fn a_replica_that_takes_over_goes_on_where_the_last_one_stopped() {
    let api = Api::new();
    install(&api);
    let first = lead(&api);
    let leaf = until("trusted", || first.trusted()).await.leaf.clone();
    let changes = api.changes().len();
    let second = lead(&api);
    let taken = until("it serves, too", || second.trusted()).await;
    assert_eq!(taken.leaf, leaf);
    assert_eq!(api.changes().len(), changes, "nothing was written");
}

#[tokio::test]
async fn an_api_server_that_is_away_is_waited_for() {
    let api = Api::new();
    install(&api);
    api.set_away(true);
    let replica = lead(&api);
    until("the watch fails", || {
        let text = replica.metrics.text();
        text.contains("watch_errors_total{kind=\"secret\"} 1")
            .then_some(())
    })
    .await;
    api.set_away(false);
    until("trusted", || replica.trusted()).await;
}
