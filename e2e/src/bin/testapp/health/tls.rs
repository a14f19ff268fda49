//! TLS with a certificate made at start: probes by https do not look who vouches for it.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

pub(super) fn acceptor() -> anyhow::Result<TlsAcceptor> {
    let made = rcgen::generate_simple_self_signed(["app".to_owned()])?;
    let key = made.signing_key.into();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
