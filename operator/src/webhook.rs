//! HTTPS around [`review`]: the API server asks about every new pod that may be meant.
//!
//! It answers whatever happens elsewhere: no request to the API server, no lock that anybody holds
//! for long, no Event is waited for. What a peer may take is bounded: connections, time, bytes.

mod connection;
mod report;
pub mod review;

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use crate::certificate::Served;
use crate::events::Events;
use crate::metrics::{Metrics, Unanswered};
use crate::settings::Settings;
use crate::watch::Stores;

/// Where the API server asks.
pub const PATH: &str = "/mutate";

/// What a peer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; newcomers wait. An API server opens one for each review under way.
    pub connections: u32,
    /// From the first byte to the end of TLS' handshake.
    pub handshake: Duration,
    /// From there to the first request's head.
    pub first: Duration,
    /// Between two requests. API servers give up an idle connection after 90 s: it is they who
    /// close, so that no request meets a connection that is about to end.
    pub idle: Duration,
    /// From a request's head to its last byte.
    pub body: Duration,
    /// Bytes of a body. An API server takes requests up to 3 MiB, and wraps the pod a little.
    pub longest: usize,
    /// What is open may take so long to end once we stop.
    pub last: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 512,
            handshake: seconds(5),
            first: seconds(5),
            idle: seconds(120),
            body: seconds(10),
            longest: 4 * 1024 * 1024,
            last: seconds(10),
        }
    }
}

/// What answering needs.
pub struct Webhook {
    /// The world as it is.
    pub stores: Stores,
    /// Settings of the cluster.
    pub settings: Arc<Settings>,
    /// The certificate as it is.
    pub served: Served,
    /// Told of refusals.
    pub events: Events,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// What a peer may take.
    pub limits: Limits,
    /// True once we are about to end: each answer then asks its connection to be given up. An API
    /// server that learns of it by our close may have asked again just then, and fails.
    pub ending: watch::Receiver<bool>,
}

/// Answers until `stop` turns true, and then until what is open has ended.
pub async fn serve(listener: TcpListener, webhook: Arc<Webhook>, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(webhook.limits.connections as usize));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let serving = connection::serve(stream, Arc::clone(&webhook), stop.clone());
                tokio::spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            // Out of descriptors, most likely: a moment later there may be one.
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let limits = webhook.limits;
    let all = places.acquire_many(limits.connections);
    if timeout(limits.last, all).await.is_err() {
        tracing::warn!("requests cut at the end");
    }
}

impl Webhook {
    /// Answers a request.
    async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match (request.method(), request.uri().path()) {
            (&Method::POST, PATH) => {}
            (_, PATH) => {
                return self.refuse(
                    StatusCode::METHOD_NOT_ALLOWED,
                    Unanswered::NotFound,
                    "the webhook is for POST\n",
                );
            }
            _ => {
                return self.refuse(
                    StatusCode::NOT_FOUND,
                    Unanswered::NotFound,
                    "the webhook is at /mutate\n",
                );
            }
        }
        let length = request.body().size_hint().lower();
        if usize::try_from(length).map_or(true, |length| length > self.limits.longest) {
            return self.too_large();
        }
        let body = Limited::new(request.into_body(), self.limits.longest).collect();
        match timeout(self.limits.body, body).await {
            Ok(Ok(body)) => self.review(&body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => self.too_large(),
            Ok(Err(_)) => self.refuse(
                StatusCode::BAD_REQUEST,
                Unanswered::Unreadable,
                "the request broke off\n",
            ),
            Err(_) => self.refuse(
                StatusCode::REQUEST_TIMEOUT,
                Unanswered::TimedOut,
                "the request came too slowly\n",
            ),
        }
    }

    fn review(&self, body: &[u8]) -> Response<Full<Bytes>> {
        let begin = Instant::now();
        match review::review(body, &self.stores.world(), &self.settings) {
            Ok(reviewed) => {
                let report = reviewed.report;
                self.metrics
                    .reviewed(report.outcome, report.reason, begin.elapsed());
                report::log(&report);
                if let Some(notice) = report::notice(&report) {
                    self.events.tell(notice);
                }
                respond(StatusCode::OK, "application/json", reviewed.response)
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                self.refuse(
                    StatusCode::BAD_REQUEST,
                    Unanswered::Unreadable,
                    &format!("{error:#}\n"),
                )
            }
        }
    }

    fn too_large(&self) -> Response<Full<Bytes>> {
        self.refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            Unanswered::TooLarge,
            "longer than an AdmissionReview can be\n",
        )
    }

    fn refuse(&self, status: StatusCode, why: Unanswered, text: &str) -> Response<Full<Bytes>> {
        self.metrics.unanswered(why);
        tracing::debug!(reason = why.name(), "request not answered");
        respond(status, "text/plain; charset=utf-8", text.into())
    }
}

fn respond(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
