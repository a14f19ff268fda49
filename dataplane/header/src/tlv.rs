//! A v2 header's extensions: type, length, value (section 2.2, "TLV vectors").
//!
//! Values are bytes somebody else chose. They are not text until checked, and never belong in a
//! label or, unescaped, in a log line.

mod ssl;
mod vendor;

pub use ssl::{Ssl, SslPart, SslParts};

use crate::Invalid;

/// Registered types.
pub mod kind {
    /// Application protocol, as in TLS ALPN.
    pub const ALPN: u8 = 0x01;
    /// Host name the client asked for, as in TLS SNI.
    pub const AUTHORITY: u8 = 0x02;
    /// Checksum over the header.
    pub const CRC32C: u8 = 0x03;
    /// Padding.
    pub const NOOP: u8 = 0x04;
    /// Opaque id of the connection.
    pub const UNIQUE_ID: u8 = 0x05;
    /// What is known of the client's TLS session, with TLVs of its own.
    pub const SSL: u8 = 0x20;
    /// Within SSL: version, as text.
    pub const SSL_VERSION: u8 = 0x21;
    /// Within SSL: common name of the client's certificate.
    pub const SSL_CN: u8 = 0x22;
    /// Within SSL: cipher.
    pub const SSL_CIPHER: u8 = 0x23;
    /// Within SSL: signature algorithm of the sender's certificate.
    pub const SSL_SIG_ALG: u8 = 0x24;
    /// Within SSL: key algorithm of the sender's certificate.
    pub const SSL_KEY_ALG: u8 = 0x25;
    /// Within SSL: key exchange group.
    pub const SSL_GROUP: u8 = 0x26;
    /// Within SSL: signature scheme.
    pub const SSL_SIG_SCHEME: u8 = 0x27;
    /// Within SSL: the client's certificate, DER.
    pub const SSL_CLIENT_CERT: u8 = 0x28;
    /// Name of the network namespace.
    pub const NETNS: u8 = 0x30;
    /// Custom range: AWS.
    pub const AWS: u8 = 0xEA;
    /// Custom range: Azure.
    pub const AZURE: u8 = 0xEE;
    /// Custom range: Google Cloud, and Linkerd's workload identity.
    pub const GCP: u8 = 0xE0;
}

/// One extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tlv<'a> {
    /// What it is; see [`kind`]. The same number may mean different things to different senders.
    pub kind: u8,
    /// Up to 65,535 bytes.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// The application protocol, if this is one.
    #[must_use]
    pub fn alpn(&self) -> Option<&'a [u8]> {
        self.of_kind(kind::ALPN)
    }

    /// The host name, if this is one. UTF-8 by the specification; unchecked here.
    #[must_use]
    pub fn authority(&self) -> Option<&'a [u8]> {
        self.of_kind(kind::AUTHORITY)
    }

    /// The connection's id, if this is one.
    #[must_use]
    pub fn unique_id(&self) -> Option<&'a [u8]> {
        self.of_kind(kind::UNIQUE_ID)
    }

    /// The namespace's name, if this is one. US-ASCII by the specification; unchecked here.
    #[must_use]
    pub fn netns(&self) -> Option<&'a [u8]> {
        self.of_kind(kind::NETNS)
    }

    /// The TLS session, if this is one and its 5 fixed bytes are there.
    #[must_use]
    pub fn ssl(&self) -> Option<Ssl<'a>> {
        self.of_kind(kind::SSL).and_then(Ssl::read)
    }

    fn of_kind(&self, kind: u8) -> Option<&'a [u8]> {
        (self.kind == kind).then_some(self.value)
    }
}

/// Walks extensions. After an error it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
}

impl<'a> Tlvs<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What is not walked yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(&mut self) -> Result<Tlv<'a>, Invalid> {
        let (&[kind, high, low], rest) =
            self.rest.split_first_chunk().ok_or(Invalid::TlvTrailing)?;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let (value, rest) = rest.split_at_checked(len).ok_or(Invalid::TlvTruncated)?;
        self.rest = rest;
        Ok(Tlv { kind, value })
    }
}

/// Errors are [`Invalid::TlvTruncated`] and [`Invalid::TlvTrailing`].
impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let tlv = self.take();
        if tlv.is_err() {
            self.rest = &[];
        }
        Some(tlv)
    }
}

impl core::iter::FusedIterator for Tlvs<'_> {}
