//! What the sender knows of the client's TLS session (section 2.2.6).

use super::{Tlv, Tlvs, kind};
use crate::Invalid;

/// An SSL extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssl<'a> {
    /// The client field: bits 1, 2 and 4 have methods, others are undefined.
    pub client: u8,
    /// The verify field: zero if the client's certificate was verified.
    pub verify: u32,
    parts: Tlvs<'a>,
}

impl<'a> Ssl<'a> {
    pub(super) fn read(value: &'a [u8]) -> Option<Self> {
        let (&[client, a, b, c, d], parts) = value.split_first_chunk()?;
        Some(Self {
            client,
            verify: u32::from_be_bytes([a, b, c, d]),
            parts: Tlvs::new(parts),
        })
    }

    /// The client connected over TLS.
    #[must_use]
    pub const fn over_tls(&self) -> bool {
        self.client & 1 != 0
    }

    /// The client showed a certificate on this connection.
    #[must_use]
    pub const fn certificate_on_connection(&self) -> bool {
        self.client & 2 != 0
    }

    /// The client showed a certificate at least once in this TLS session.
    #[must_use]
    pub const fn certificate_in_session(&self) -> bool {
        self.client & 4 != 0
    }

    /// The client showed a certificate and the sender found it good.
    ///
    /// The verify field alone does not say so: senders that ask for no certificate write zero.
    #[must_use]
    pub const fn verified(&self) -> bool {
        self.verify == 0 && (self.certificate_on_connection() || self.certificate_in_session())
    }

    /// Its parts, in the order they were written.
    #[must_use]
    pub fn parts(&self) -> SslParts<'a> {
        SslParts {
            tlvs: self.parts.clone(),
        }
    }
}

/// One part of an SSL extension. Text is unchecked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SslPart<'a> {
    /// TLS version, US-ASCII.
    Version(&'a [u8]),
    /// Common name in the client's certificate, UTF-8.
    CommonName(&'a [u8]),
    /// Cipher, US-ASCII, such as `ECDHE-RSA-AES128-GCM-SHA256`.
    Cipher(&'a [u8]),
    /// Signature algorithm of the certificate the sender showed, US-ASCII.
    SignatureAlgorithm(&'a [u8]),
    /// Key algorithm of the certificate the sender showed, US-ASCII.
    KeyAlgorithm(&'a [u8]),
    /// Key exchange group, US-ASCII.
    Group(&'a [u8]),
    /// Signature scheme, US-ASCII.
    SignatureScheme(&'a [u8]),
    /// The client's certificate, DER.
    ClientCertificate(&'a [u8]),
    /// A type that has no meaning within SSL.
    Other(Tlv<'a>),
}

impl<'a> From<Tlv<'a>> for SslPart<'a> {
    fn from(tlv: Tlv<'a>) -> Self {
        match tlv.kind {
            kind::SSL_VERSION => Self::Version(tlv.value),
            kind::SSL_CN => Self::CommonName(tlv.value),
            kind::SSL_CIPHER => Self::Cipher(tlv.value),
            kind::SSL_SIG_ALG => Self::SignatureAlgorithm(tlv.value),
            kind::SSL_KEY_ALG => Self::KeyAlgorithm(tlv.value),
            kind::SSL_GROUP => Self::Group(tlv.value),
            kind::SSL_SIG_SCHEME => Self::SignatureScheme(tlv.value),
            kind::SSL_CLIENT_CERT => Self::ClientCertificate(tlv.value),
            _ => Self::Other(tlv),
        }
    }
}

/// Walks the parts of an SSL extension. After an error it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SslParts<'a> {
    tlvs: Tlvs<'a>,
}

/// Errors are those of [`Tlvs`].
impl<'a> Iterator for SslParts<'a> {
    type Item = Result<SslPart<'a>, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.tlvs.next()?.map(SslPart::from))
    }
}

impl core::iter::FusedIterator for SslParts<'_> {}
