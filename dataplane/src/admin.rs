//! `/livez /readyz /metrics /app-probe/` for everybody; `/config /connections /drain` for loopback.
//!
//! The latter three show clients' addresses or end the service, so they answer this pod only: from
//! elsewhere `kubectl port-forward` leads to loopback.

mod guests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::counters::Counters;
use crate::engine::{Lister, Open};
use crate::health::Health;
use crate::metrics::{self, Process};
use crate::probes::{Asked, Probes};
use guests::Guests;

/// A scraper sends its request at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Open connections in an answer, unless `?top=N` asks otherwise.
const TOP: usize = 100;

/// What stands before a probe's name in its path.
const APP_PROBE: &str = "/app-probe/";

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the admin port shows.
pub struct Shown {
    /// Readiness.
    pub health: Arc<Health>,
    /// The workers' counters.
    pub counters: Vec<Arc<Counters>>,
    /// Lists open connections.
    pub lister: Lister,
    /// kubelet's probes.
    pub probes: Arc<Probes>,
    /// The rest of the metrics.
    pub process: Mutex<Process>,
    /// The answer of `/config`.
    pub config: Mutex<String>,
}

/// Opens the admin port.
///
/// # Errors
/// Those of bind(2) and listen(2).
pub fn listen(addresses: &[SocketAddr]) -> io::Result<Vec<std::net::TcpListener>> {
    let open = |address: &SocketAddr| {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    addresses.iter().map(open).collect()
}

/// Answers requests for as long as the process runs.
pub async fn serve(listener: TcpListener, shown: Arc<Shown>) {
    let guests = Arc::new(Guests::default());
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let from = from.ip().to_canonical();
                guests.receive(from, answer_all(stream, from, Arc::clone(&shown)));
            }
            // Out of descriptors, most likely: a moment later there may be one.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer_all(stream: TcpStream, from: IpAddr, shown: Arc<Shown>) {
    let Ok(to) = stream.local_addr() else {
        return;
    };
    let service = service_fn(move |request| {
        let shown = Arc::clone(&shown);
        async move { answer(&request, from, to.ip(), &shown).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "admin connection ended early");
    }
}

async fn answer(
    request: &Request<Incoming>,
    from: IpAddr,
    to: IpAddr,
    shown: &Arc<Shown>,
) -> Result<Response<String>, Unanswered> {
    let path = request.uri().path();
    if matches!(path, "/config" | "/connections" | "/drain") && !from.is_loopback() {
        let body = format!("{path} answers loopback only\n");
        return Ok(text(StatusCode::FORBIDDEN, body));
    }
    if let (&Method::GET, Some(name)) = (request.method(), path.strip_prefix(APP_PROBE)) {
        return app_probe(request, name, to, &shown.probes).await;
    }
    Ok(match (request.method(), path) {
        (&Method::GET, "/livez") => text(StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET, "/readyz") => readiness(&shown.health),
        (&Method::GET, "/metrics") => metrics(shown),
        (&Method::GET, "/config") => respond(StatusCode::OK, JSON, shown.config()),
        (&Method::GET, "/connections") => connections(request, shown).await,
        (&Method::POST, "/drain") => {
            shown.health.drain();
            tracing::info!("asked to drain: not ready from now on, still accepting");
            text(
                StatusCode::OK,
                "not ready from now on; SIGTERM stops accepting\n".to_owned(),
            )
        }
        (_, "/livez" | "/readyz" | "/metrics" | "/config" | "/connections") => text(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("{path} is for GET\n"),
        ),
        (_, path) if path.starts_with(APP_PROBE) => text(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("{APP_PROBE} is for GET\n"),
        ),
        (_, "/drain") => text(
            StatusCode::METHOD_NOT_ALLOWED,
            "/drain is for POST\n".to_owned(),
        ),
        _ => text(
            StatusCode::NOT_FOUND,
            format!(
                "try /livez /readyz /metrics {APP_PROBE}CONTAINER/KIND /config /connections /drain\n"
            ),
        ),
    })
}

async fn app_probe(
    request: &Request<Incoming>,
    name: &str,
    to: IpAddr,
    probes: &Arc<Probes>,
) -> Result<Response<String>, Unanswered> {
    let unknown = || {
        let body = format!(
            "no probe {name:?} is known; these are: {}\n",
            probes.known()
        );
        Ok(text(StatusCode::NOT_FOUND, body))
    };
    let Ok(key) = name.parse() else {
        return unknown();
    };
    let agent = request.headers().get(USER_AGENT);
    let agent = agent.and_then(|agent| agent.to_str().ok());
    match probes.ask(&key, Asked::new(to, agent)).await {
        None => unknown(),
        Some(verdict) if verdict.is_lost_hook(key.kind) => Err(Unanswered),
        Some(verdict) => Ok(text(verdict.status, verdict.body.clone())),
    }
}

/// The app never had this hook. kubelet takes whatever is answered for done, so nothing is.
#[derive(Debug, thiserror::Error)]
#[error("the hook did not reach the app")]
struct Unanswered;

fn readiness(health: &Health) -> Response<String> {
    let problems = health.problems();
    match problems.is_empty() {
        true => text(StatusCode::OK, "ok\n".to_owned()),
        false => text(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{}\n", problems.join("\n")),
        ),
    }
}

fn metrics(shown: &Shown) -> Response<String> {
    let process = shown
        .process
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let ready = shown.health.problems().is_empty();
    let probes = shown.probes.counts();
    let process = Process {
        ready,
        probes,
        ..process
    };
    let body = metrics::text(&shown.counters, &process);
    respond(StatusCode::OK, METRICS, body)
}

/// The oldest connections first: those are what one looks for.
async fn connections(request: &Request<Incoming>, shown: &Arc<Shown>) -> Response<String> {
    let top = match top(request.uri().query()) {
        Ok(top) => top,
        Err(message) => return text(StatusCode::BAD_REQUEST, message),
    };
    let lister = shown.lister.clone();
    let listed = tokio::task::spawn_blocking(move || lister.list()).await;
    let mut open: Vec<Open> = listed.unwrap_or_default();
    open.sort_by_key(|connection| std::cmp::Reverse(connection.age_ms));
    let all = open.len();
    open.truncate(top);
    let body = serde_json::json!({ "open": all, "shown": open.len(), "connections": open });
    respond(StatusCode::OK, JSON, format!("{body:#}\n"))
}

fn top(query: Option<&str>) -> Result<usize, String> {
    match query.map(|query| query.strip_prefix("top=").unwrap_or(query).parse()) {
        None => Ok(TOP),
        Some(Ok(top)) => Ok(top),
        Some(Err(_)) => Err("the one parameter is top, a number: /connections?top=20\n".to_owned()),
    }
}

impl Shown {
    fn config(&self) -> String {
        self.config
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn text(status: StatusCode, body: String) -> Response<String> {
    respond(status, TEXT, body)
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
