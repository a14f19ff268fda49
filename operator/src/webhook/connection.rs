//! One connection of the webhook: TLS, then requests one after the other.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::pin;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Webhook;
use crate::metrics::Unanswered;

/// Serves a connection until either side ends it, or `stop` turns true and no request is open.
pub(super) async fn serve(stream: TcpStream, webhook: Arc<Webhook>, stop: watch::Receiver<bool>) {
    // A small answer is not to wait for the peer's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    match secure(stream, &webhook).await {
        Ok(stream) => requests(stream, &webhook, stop).await,
        Err(why) => webhook.metrics.unanswered(why),
    }
}

/// TLS with the certificate of this moment.
async fn secure(stream: TcpStream, webhook: &Webhook) -> Result<TlsStream<TcpStream>, Unanswered> {
    let loaded = webhook.served.current().ok_or(Unanswered::Handshake)?;
    let acceptor = TlsAcceptor::from(Arc::clone(&loaded.config));
    match timeout(webhook.limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "no handshake");
            Err(Unanswered::Handshake)
        }
        Err(_) => Err(Unanswered::TimedOut),
    }
}

async fn requests(
    stream: TlsStream<TcpStream>,
    webhook: &Arc<Webhook>,
    mut stop: watch::Receiver<bool>,
) {
    let asked = Notify::new();
    let service = service_fn(|request| {
        asked.notify_one();
        let webhook = Arc::clone(webhook);
        async move {
            let mut answer = webhook.answer(request).await;
            if *webhook.ending.borrow() {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(webhook.limits.idle)
        .serve_connection(TokioIo::new(stream), service);
    pin!(connection);
    let silent = async {
        if timeout(webhook.limits.first, asked.notified())
            .await
            .is_ok()
        {
            std::future::pending::<()>().await;
        }
    };
    let mut stopped = false;
    pin!(silent);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended early");
                }
                return;
            }
            () = silent.as_mut() => return webhook.metrics.unanswered(Unanswered::TimedOut),
            _ = stop.wait_for(|stop| *stop), if !stopped => {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
