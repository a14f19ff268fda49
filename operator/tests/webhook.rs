//! Promise: who asks in time gets an answer, whatever others do and whatever certificate is served.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use proxyunwrap_operator::events::Events;
use proxyunwrap_operator::metrics::Metrics;
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::watch::Stores;
use proxyunwrap_operator::webhook::{self, Limits, Webhook};
use serde_json::{Value, json};
use support::api::Api;
use support::certificates::{self, Replica, SECRET, SERVER, bundle};
use support::https::{Https, REVIEW};
use support::wait::until;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SETTINGS: &str = "
trustedPeers: [10.0.0.0/8]
dataplane: { image: pu }
webhook: { configuration: pu, service: pu-webhook, secret: pu-tls }
";

/// A webhook with the certificate that a leader made for it.
struct Stand {
    api: Api,
    replica: Replica,
    address: SocketAddr,
    metrics: Arc<Metrics>,
    ending: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

async fn stand(limits: Limits) -> Stand {
    let api = Api::new();
    certificates::install(&api);
    let replica = certificates::lead(&api);
    until("a trusted certificate", || replica.trusted()).await;
    let metrics = Arc::new(Metrics::default());
    let ending = watch::Sender::new(false);
    let webhook = Webhook {
        stores: Stores::default(),
        settings: Arc::new(Settings::parse(SETTINGS, "pu-system").unwrap()),
        served: replica.served.clone(),
        events: Events::channel(Arc::clone(&metrics)).0,
        metrics: Arc::clone(&metrics),
        limits,
        ending: ending.subscribe(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(webhook::serve(listener, Arc::new(webhook), stopped));
    Stand {
        api,
        replica,
        address,
        metrics,
        ending,
        stop,
        serving,
    }
}

impl Stand {
    async fn connect(&self) -> Https {
        Https::connect(self.address, &bundle(&self.api), SERVER)
            .await
            .unwrap()
    }

    /// Waits until so many were not answered for that reason.
    async fn unanswered(&self, reason: &str, count: u64) {
        let line = format!("webhook_unanswered_total{{reason=\"{reason}\"}} {count}\n");
        until(&line, || self.metrics.text().contains(&line).then_some(())).await;
    }
}

#[tokio::test]
async fn reviews_are_answered_one_after_the_other_on_a_connection() {
    let stand = stand(Limits::default()).await;
    let mut connection = stand.connect().await;
    for _ in 0..3 {
        let (status, body) = connection.review(REVIEW).await.unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["response"]["uid"]), (200, &json!("u1")));
        assert_eq!(body["response"]["allowed"], true);
    }
    assert!(
        stand
            .metrics
            .text()
            .contains("operator_admission_seconds_count 3")
    );
}

#[tokio::test]
async fn every_name_of_the_service_is_good_and_no_other() {
    let stand = stand(Limits::default()).await;
    for server in [
        SERVER,
        "pu-webhook.pu-system.svc.cluster.local",
        "pu-webhook.pu-system",
    ] {
        let connected = Https::connect(stand.address, &bundle(&stand.api), server).await;
        assert!(connected.unwrap().review(REVIEW).await.is_ok(), "{server}");
    }
    let connected = Https::connect(stand.address, &bundle(&stand.api), "evil.example").await;
    let error = connected.err().unwrap().to_string();
    assert!(error.contains("not valid for name"), "{error}");
    stand.unanswered("handshake", 1).await;
    stand.connect().await.review(REVIEW).await.unwrap();
}

#[tokio::test]
async fn what_is_no_review_is_refused_and_service_goes_on() {
    let limits = Limits {
        longest: 64 * 1024,
        ..Limits::default()
    };
    let stand = stand(limits).await;
    let mut connection = stand.connect().await;
    assert_eq!(connection.review("{").await.unwrap().0, 400);
    assert_eq!(connection.review(REVIEW).await.unwrap().0, 200);
    assert_eq!(connection.post("/", REVIEW).await.unwrap().0, 404);
    let mut connection = stand.connect().await;
    let long = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n";
    connection.send(long).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().0, 413);
    let mut chunked = stand.connect().await;
    let head = "POST /mutate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n";
    chunked
        .send(&format!("{head}{}", " ".repeat(65537)))
        .await
        .unwrap();
    assert_eq!(chunked.answer().await.unwrap().0, 413);
    for (reason, count) in [("unreadable", 1), ("not_found", 1), ("too_large", 2)] {
        stand.unanswered(reason, count).await;
    }
    stand.connect().await.review(REVIEW).await.unwrap();
}

#[tokio::test]
async fn a_pod_as_large_as_the_api_server_takes_is_reviewed() {
    let stand = stand(Limits::default()).await;
    let large = format!("{REVIEW}{}", " ".repeat(3 * 1024 * 1024));
    assert_eq!(stand.connect().await.review(&large).await.unwrap().0, 200);
}

#[tokio::test]
async fn who_is_slow_is_let_go_and_keeps_nobody_else_waiting() {
    let short = Duration::from_millis(150);
    let limits = Limits {
        connections: 4,
        handshake: short,
        first: short,
        body: short,
        ..Limits::default()
    };
    let stand = stand(limits).await;
    // One says nothing, one nothing after its handshake, one stops within its body.
    let silent = TcpStream::connect(stand.address).await.unwrap();
    let mut idle = stand.connect().await;
    let mut cut = stand.connect().await;
    cut.send("POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        .await
        .unwrap();
    assert_eq!(stand.connect().await.review(REVIEW).await.unwrap().0, 200);
    assert_eq!(cut.answer().await.unwrap().0, 408);
    idle.closed().await;
    stand.unanswered("timed_out", 3).await;
    drop(silent);
}

#[tokio::test]
async fn a_connection_that_has_asked_once_may_be_idle_for_longer() {
    let limits = Limits {
        first: Duration::from_millis(50),
        ..Limits::default()
    };
    let stand = stand(limits).await;
    let mut kept = stand.connect().await;
    kept.review(REVIEW).await.unwrap();
    let mut silent = stand.connect().await;
    silent.closed().await;
    assert_eq!(kept.review(REVIEW).await.unwrap().0, 200);
}

/// As API servers do it: each trusts what the configuration says at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_rotated_under_load_without_a_failed_request() {
    let stand = stand(Limits::default()).await;
    let over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let mut clients = Vec::new();
    for keep in [false, true, false] {
        let (api, address) = (stand.api.clone(), stand.address);
        let (over, count) = (Arc::clone(&over), Arc::clone(&count));
        clients.push(tokio::spawn(async move {
            let mut kept = None;
            while !over.load(Ordering::SeqCst) {
                let mut connection = match kept.take() {
                    Some(connection) => connection,
                    None => Https::connect(address, &bundle(&api), SERVER)
                        .await
                        .unwrap(),
                };
                assert_eq!(connection.review(REVIEW).await.unwrap().0, 200);
                count.fetch_add(1, Ordering::SeqCst);
                kept = keep.then_some(connection);
            }
        }));
    }
    let first = stand.replica.trusted().unwrap();
    let begun = count.load(Ordering::SeqCst);
    until("load", || {
        (count.load(Ordering::SeqCst) > begun + 50).then_some(())
    })
    .await;
    let mut secret = stand.api.get(SECRET);
    secret["metadata"]["annotations"]["proxyunwrap.dev/rotate"] = json!("now");
    stand.api.put(SECRET, secret);
    until("both are trusted", || {
        (certificates::authorities(&stand.api) == 2).then_some(())
    })
    .await;
    let minute = Duration::from_secs(61);
    let replica = &stand.replica;
    replica
        .pass_until(&stand.api, minute, "another leaf", || {
            replica.trusted().filter(|loaded| loaded.leaf != first.leaf)
        })
        .await;
    let swapped = count.load(Ordering::SeqCst);
    until("load after it", || {
        (count.load(Ordering::SeqCst) > swapped + 50).then_some(())
    })
    .await;
    over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
}

/// A close of ours would meet the next request on its way.
#[tokio::test]
async fn before_the_end_each_answer_asks_for_another_connection() {
    let stand = stand(Limits::default()).await;
    let mut used = stand.connect().await;
    let mut idle = stand.connect().await;
    used.review(REVIEW).await.unwrap();
    stand.ending.send_replace(true);
    assert_eq!(used.review(REVIEW).await.unwrap().0, 200);
    used.closed().await;
    assert_eq!(
        idle.review(REVIEW).await.unwrap().0,
        200,
        "it was closed unasked"
    );
    let mut new = stand.connect().await;
    assert_eq!(new.review(REVIEW).await.unwrap().0, 200);
}

#[tokio::test]
async fn at_the_end_open_requests_are_answered_and_newcomers_are_not() {
    let stand = stand(Limits::default()).await;
    let mut open = stand.connect().await;
    let mut idle = stand.connect().await;
    idle.review(REVIEW).await.unwrap();
    let (begin, rest) = REVIEW.split_at(20);
    open.begin(REVIEW.len()).await.unwrap();
    open.send(begin).await.unwrap();
    stand.stop.send_replace(true);
    idle.closed().await;
    open.send(rest).await.unwrap();
    assert_eq!(open.answer().await.unwrap().0, 200);
    open.closed().await;
    stand.serving.await.unwrap();
    assert!(TcpStream::connect(stand.address).await.is_err());
}
