//! A client of the webhook that believes what it is told to believe, as an API server does.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use proxyunwrap_operator::webhook::PATH;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
    "request":{"uid":"u1","kind":{"group":"","version":"v1","kind":"Pod"},
    "resource":{"group":"","version":"v1","resource":"pods"},
    "name":"web","namespace":"shop","operation":"CREATE","userInfo":{},
    "object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},
    "spec":{"containers":[{"name":"app","image":"nginx"}]}},"dryRun":false}}"#;

/// A connection.
pub struct Https(TlsStream<TcpStream>);

impl Https {
    /// Shakes hands, trusting the CAs of a bundle.
    pub async fn connect(address: SocketAddr, bundle: &[u8], server: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(bundle) {
            roots
                .add(authority.map_err(io::Error::other)?)
                .map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(server.to_owned()).map_err(io::Error::other)?;
        let stream = TcpStream::connect(address).await?;
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Self(connector.connect(name, stream).await?))
    }

    /// A review, as an API server sends it; the connection stays.
    pub async fn review(&mut self, body: &str) -> io::Result<(u16, String)> {
        self.post(&format!("{PATH}?timeout=5s"), body).await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> io::Result<(u16, String)> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        self.send(&head).await?;
        self.send(body).await?;
        self.answer().await
    }

    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes()).await?;
        self.0.flush().await
    }

    /// Sends a review's head, and waits until the server wants its body.
    pub async fn begin(&mut self, length: usize) -> io::Result<()> {
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: webhook\r\nExpect: 100-continue\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        self.send(&head).await?;
        let mut answer = [0; 25];
        self.0.read_exact(&mut answer).await?;
        assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
        Ok(())
    }

    /// Status and body of the next answer.
    pub async fn answer(&mut self) -> io::Result<(u16, String)> {
        let mut bytes = Vec::new();
        loop {
            if let Some(answer) = whole(&bytes) {
                return Ok(answer);
            }
            let mut chunk = [0; 4096];
            match self.0.read(&mut chunk).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => bytes.extend_from_slice(&chunk[..n]),
            }
        }
    }

    /// Waits until the server closes.
    pub async fn closed(&mut self) {
        let mut chunk = [0; 4096];
        while self.0.read(&mut chunk).await.is_ok_and(|n| n > 0) {}
    }
}

fn whole(bytes: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().ok())?
    });
    (body.len() >= length?).then(|| (status, body.to_owned()))
}
