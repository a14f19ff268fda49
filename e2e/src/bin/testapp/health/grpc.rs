//! gRPC's health service, by the implementation that Rust's apps have.

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, health_reporter};

use super::State;

/// The service that a probe may name, beside the nameless one.
const SERVICE: &str = "app";

pub(super) async fn serve(
    listener: TcpListener,
    state: watch::Receiver<State>,
) -> anyhow::Result<()> {
    let (reporter, service) = health_reporter();
    tokio::spawn(report(reporter, state));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        let server = http2::Builder::new(TokioExecutor::new());
        tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
    }
}

async fn report(reporter: HealthReporter, mut state: watch::Receiver<State>) {
    loop {
        let status = match *state.borrow_and_update() {
            State::Well => ServingStatus::Serving,
            State::Failing => ServingStatus::NotServing,
        };
        for name in ["", SERVICE] {
            reporter.set_service_status(name, status).await;
        }
        if state.changed().await.is_err() {
            return;
        }
    }
}
