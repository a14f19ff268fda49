//! What the Secret holds, as far as keeping it needs to know.

use std::time::SystemTime;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use proxyunwrap_api::names::ROTATE;
use rcgen::KeyPair;
use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

use super::key;
use super::loaded::{self, Loaded, Unusable, certificates, not_after, not_before, parse, signed};

/// A Secret that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The server's certificate.
    pub(super) leaf: Life,
    /// Whether it is made out to all of our names.
    pub(super) named: bool,
    /// The CA that signed it, of those in the bundle.
    pub(super) issuer: usize,
    /// The CA that signs next; none if its key is not there.
    pub(super) signer: Option<usize>,
    /// Every CA that is to be trusted.
    pub(super) bundle: Vec<Life>,
    /// What somebody asks for.
    pub(super) asked: Option<Asked>,
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) from: SystemTime,
    pub(super) to: SystemTime,
}

/// What the annotation `proxyunwrap.dev/rotate` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `leaf`: a new certificate of the server.
    Leaf,
    /// Anything else: a new CA, and then a new certificate of the server.
    Ca,
}

/// A Secret that does not serve: all of it is made anew.
#[derive(Debug, thiserror::Error)]
pub(super) enum Flaw {
    /// As the chart made it.
    #[error("the Secret is empty")]
    Empty,
    /// The server could not load it.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// Somebody else's certificate.
    #[error("tls.crt of the Secret is not signed by a CA in its ca.crt")]
    Foreign,
}

impl State {
    /// Reads a Secret. `names` are ours.
    pub(super) fn new(secret: &Secret, names: &[String]) -> Result<Self, Flaw> {
        let empty = |data: &std::collections::BTreeMap<_, k8s_openapi::ByteString>| {
            data.values().all(|value| value.0.is_empty())
        };
        if secret.data.as_ref().is_none_or(empty) {
            return Err(Flaw::Empty);
        }
        let leaf = Loaded::new(secret)?.leaf;
        let authorities = certificates(secret, key::BUNDLE)?;
        let issuer = authorities.iter().position(|one| signed(&leaf, one));
        let lives: Option<Vec<_>> = authorities
            .iter()
            .map(|one| parse(one).as_ref().map(life))
            .collect();
        let leaf = parse(&leaf).ok_or(Unusable::Unreadable(key::LEAF))?;
        Ok(Self {
            named: named(&leaf, names),
            leaf: life(&leaf),
            issuer: issuer.ok_or(Flaw::Foreign)?,
            signer: signer(secret, &authorities),
            bundle: lives.ok_or(Unusable::Unreadable(key::BUNDLE))?,
            asked: secret.annotations().get(ROTATE).map(|text| asked(text)),
        })
    }
}

fn life(certificate: &X509Certificate<'_>) -> Life {
    Life {
        from: not_before(certificate),
        to: not_after(certificate),
    }
}

fn named(leaf: &X509Certificate<'_>, names: &[String]) -> bool {
    let Ok(Some(alternatives)) = leaf.subject_alternative_name() else {
        return false;
    };
    let alternatives = &alternatives.value.general_names;
    names
        .iter()
        .all(|name| alternatives.contains(&GeneralName::DNSName(name)))
}

/// The CA whose key is there.
fn signer(secret: &Secret, authorities: &[CertificateDer<'_>]) -> Option<usize> {
    let pem = loaded::bytes(secret, key::SIGNER_KEY).ok()?;
    let pair = KeyPair::from_pem(std::str::from_utf8(pem).ok()?).ok()?;
    let own = |der: &CertificateDer<'_>| {
        let certificate = parse(der);
        certificate
            .is_some_and(|one| one.public_key().subject_public_key.data == pair.public_key_raw())
    };
    authorities.iter().position(own)
}

fn asked(text: &str) -> Asked {
    match text {
        "leaf" => Asked::Leaf,
        _ => Asked::Ca,
    }
}
