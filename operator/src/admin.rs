//! `/livez /readyz /metrics`, for everybody: nothing here names a pod or a secret.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::metrics::Metrics;
use crate::readiness::Readiness;

/// A scraper sends its request at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests at once; more of them wait.
const CONNECTIONS: usize = 32;

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the admin port shows.
pub struct Shown {
    /// Whether this replica may be asked.
    pub readiness: Readiness,
    /// Every series.
    pub metrics: Arc<Metrics>,
}

/// Answers requests for as long as the process runs.
pub async fn serve(listener: TcpListener, shown: Arc<Shown>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let shown = Arc::clone(&shown);
                tokio::spawn(async move {
                    answer_all(stream, shown).await;
                    drop(place);
                });
            }
            // Out of descriptors, most likely: a moment later there may be one.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer_all(stream: TcpStream, shown: Arc<Shown>) {
    let service = service_fn(move |request| {
        let answer = answer(&request, &shown);
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "admin connection ended early");
    }
}

fn answer(request: &Request<Incoming>, shown: &Shown) -> Response<Full<Bytes>> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/livez") => respond(StatusCode::OK, TEXT, "ok\n".to_owned()),
        (&Method::GET, "/readyz") => readiness(&shown.readiness),
        (&Method::GET, "/metrics") => metrics(shown),
        (_, path @ ("/livez" | "/readyz" | "/metrics")) => respond(
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            format!("{path} is for GET\n"),
        ),
        _ => respond(
            StatusCode::NOT_FOUND,
            TEXT,
            "try /livez /readyz /metrics\n".to_owned(),
        ),
    }
}

fn readiness(readiness: &Readiness) -> Response<Full<Bytes>> {
    let problems = readiness.problems();
    match problems.is_empty() {
        true => respond(StatusCode::OK, TEXT, "ok\n".to_owned()),
        false => respond(
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            format!("{}\n", problems.join("\n")),
        ),
    }
}

fn metrics(shown: &Shown) -> Response<Full<Bytes>> {
    shown
        .metrics
        .set_ready(shown.readiness.problems().is_empty());
    respond(StatusCode::OK, METRICS, shown.metrics.text())
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
