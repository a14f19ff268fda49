//! Makes keys and certificates: ECDSA P-256, which every client of TLS 1.2 knows.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use sha2::{Digest, Sha256};

/// Clocks of nodes differ: what we make is valid from a little earlier.
const EARLIER: Duration = Duration::from_secs(600);

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// A CA that signs for a while. Each has a name of its own: clients find an issuer by its name.
pub(super) fn authority(now: SystemTime, life: Duration) -> Result<Made, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = lasting(CertificateParams::default(), now, life);
    let name = format!("proxyunwrap-operator CA {}", fingerprint(&key));
    params.distinguished_name = called(&name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(Made {
        certificate: params.self_signed(&key)?.pem(),
        key: key.serialize_pem(),
    })
}

/// A server's certificate, signed by a CA. The first name is its subject.
pub(super) fn leaf(
    authority: &Made,
    names: &[String],
    now: SystemTime,
    life: Duration,
) -> Result<Made, rcgen::Error> {
    let signer = KeyPair::from_pem(&authority.key)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, signer)?;
    let key = KeyPair::generate()?;
    let mut params = lasting(CertificateParams::new(names)?, now, life);
    params.distinguished_name = called(names.first().map_or("", String::as_str));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(Made {
        certificate: params.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
    })
}

fn lasting(mut params: CertificateParams, now: SystemTime, life: Duration) -> CertificateParams {
    params.not_before = (now - EARLIER).into();
    params.not_after = (now + life).into();
    params
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}

fn fingerprint(key: &KeyPair) -> String {
    let digest = Sha256::digest(key.public_key_raw());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
