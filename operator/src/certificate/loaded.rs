//! A certificate as the server needs it, from the Secret.

use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::api::core::v1::Secret;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use x509_parser::certificate::X509Certificate;

use super::key;

/// What is served.
#[derive(Debug)]
pub struct Loaded {
    /// For new connections.
    pub config: Arc<ServerConfig>,
    /// Its end.
    pub expires: SystemTime,
    /// The server's certificate itself.
    pub leaf: CertificateDer<'static>,
}

/// A Secret without a certificate that can be served.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A key of the Secret is not there or empty.
    #[error("the Secret has no {0}")]
    Missing(&'static str),
    /// Not PEM, or of something else.
    #[error("{0} of the Secret is not what it should be")]
    Unreadable(&'static str),
    /// Certificate and key do not belong together, or the key is of a kind that is not supported.
    #[error("tls.crt and tls.key of the Secret do not go together")]
    Mismatch(#[source] rustls::Error),
}

impl Loaded {
    /// Loads what a Secret holds.
    ///
    /// # Errors
    /// Why that cannot be served.
    pub fn new(secret: &Secret) -> Result<Self, Unusable> {
        let chain = certificates(secret, key::LEAF)?;
        let private = PrivateKeyDer::from_pem_slice(bytes(secret, key::LEAF_KEY)?)
            .map_err(|_| Unusable::Unreadable(key::LEAF_KEY))?;
        let leaf = chain.first().cloned().ok_or(Unusable::Missing(key::LEAF))?;
        let expires = not_after(&parse(&leaf).ok_or(Unusable::Unreadable(key::LEAF))?);
        let certified = CertifiedKey::from_der(chain, private, &default_provider())
            .map_err(Unusable::Mismatch)?;
        Ok(Self {
            config: Arc::new(server(certified)),
            expires,
            leaf,
        })
    }
}

/// HTTP/1.1 only: an API server keeps its connections, and one request each is what we limit.
fn server(certified: CertifiedKey) -> ServerConfig {
    let provider = Arc::new(default_provider());
    let versions = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for both versions");
    let resolver = Arc::new(SingleCertAndKey::from(certified));
    let mut config = versions.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Certificates of a key of the Secret; at least one.
pub(super) fn certificates(
    secret: &Secret,
    name: &'static str,
) -> Result<Vec<CertificateDer<'static>>, Unusable> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes(secret, name)?).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) | Err(_) => Err(Unusable::Unreadable(name)),
    }
}

/// What a key of the Secret holds; not nothing.
pub(super) fn bytes<'a>(secret: &'a Secret, name: &'static str) -> Result<&'a [u8], Unusable> {
    let value = secret.data.as_ref().and_then(|data| data.get(name));
    let value = value.map(|value| value.0.as_slice());
    value
        .filter(|bytes| !bytes.is_empty())
        .ok_or(Unusable::Missing(name))
}

pub(super) fn parse<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    Some(certificate)
}

/// Whether a CA signed a certificate.
pub(super) fn signed(leaf: &CertificateDer<'_>, authority: &CertificateDer<'_>) -> bool {
    let (Some(leaf), Some(authority)) = (parse(leaf), parse(authority)) else {
        return false;
    };
    leaf.issuer() == authority.subject()
        && leaf.verify_signature(Some(authority.public_key())).is_ok()
}

pub(super) fn not_before(certificate: &X509Certificate<'_>) -> SystemTime {
    time(certificate.validity().not_before.timestamp())
}

pub(super) fn not_after(certificate: &X509Certificate<'_>) -> SystemTime {
    time(certificate.validity().not_after.timestamp())
}

/// Certificates of before 1970 are as old as any.
fn time(seconds: i64) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
}
