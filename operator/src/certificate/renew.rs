//! A step of the plan, as the Secret's next content.

use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use proxyunwrap_api::names::ROTATE;

use super::key;
use super::loaded::{Unusable, bytes};
use super::make::{self, Made};
use super::plan::Action;
use super::state::State;
use crate::settings::Certificate;

/// CAs that a bundle holds at most, whoever asks for new ones however often.
const MOST: usize = 8;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// A Secret that could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The library refused.
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
    /// What the plan relied on is not there.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The CA that is to sign is not there.
    #[error("the Secret has no CA that could sign")]
    NoSigner,
}

/// The Secret after a step; nothing for a step that changes nothing. What others keep in the
/// Secret stays, and a wish that is fulfilled goes.
pub(super) fn renewed(
    secret: &Secret,
    state: Option<&State>,
    action: Action,
    names: &[String],
    lives: &Certificate,
    now: SystemTime,
) -> Result<Option<Secret>, Failure> {
    let mut next = secret.clone();
    match action {
        Action::Wait(_) => return Ok(None),
        Action::Both => {
            let authority = make::authority(now, lives.ca_life.0)?;
            let leaf = make::leaf(&authority, names, now, lives.life.0)?;
            put(&mut next, key::BUNDLE, &authority.certificate);
            put_signer(&mut next, &authority);
            put_leaf(&mut next, &leaf);
        }
        Action::Ca(_) => {
            let authority = make::authority(now, lives.ca_life.0)?;
            let mut bundle = vec![authority.certificate.clone()];
            bundle.extend(living(secret, state, now)?);
            bundle.truncate(MOST);
            put(&mut next, key::BUNDLE, &bundle.concat());
            put_signer(&mut next, &authority);
        }
        Action::Leaf(_) => {
            let (authority, left) = signer(secret, state, now)?;
            let leaf = make::leaf(&authority, names, now, lives.life.0.min(left))?;
            put_leaf(&mut next, &leaf);
        }
        Action::Forget => {
            let (authority, _) = signer(secret, state, now)?;
            put(&mut next, key::BUNDLE, &authority.certificate);
        }
    }
    next.annotations_mut().remove(ROTATE);
    Ok(Some(next))
}

/// The CA that signs, and what is left of its life.
fn signer(
    secret: &Secret,
    state: Option<&State>,
    now: SystemTime,
) -> Result<(Made, Duration), Failure> {
    let state = state.ok_or(Failure::NoSigner)?;
    let index = state.signer.ok_or(Failure::NoSigner)?;
    let left = state.bundle[index].to.duration_since(now);
    let certificate = blocks(secret)?.into_iter().nth(index);
    let key = bytes(secret, key::SIGNER_KEY)?;
    let authority = Made {
        certificate: certificate.ok_or(Failure::NoSigner)?,
        key: String::from_utf8_lossy(key).into_owned(),
    };
    Ok((authority, left.map_err(|_| Failure::NoSigner)?))
}

/// CAs of the bundle that have not expired.
fn living(secret: &Secret, state: Option<&State>, now: SystemTime) -> Result<Vec<String>, Failure> {
    let lives = state.map_or(&[][..], |state| &state.bundle);
    let pairs = blocks(secret)?.into_iter().zip(lives);
    Ok(pairs
        .filter(|(_, life)| now < life.to)
        .map(|(pem, _)| pem)
        .collect())
}

/// The bundle's certificates, each as its PEM.
fn blocks(secret: &Secret) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8_lossy(bytes(secret, key::BUNDLE)?).into_owned();
    let blocks = text.split(BEGIN).skip(1);
    Ok(blocks
        .map(|block| format!("{BEGIN}{}\n", block.trim_end()))
        .collect())
}

fn put_leaf(secret: &mut Secret, leaf: &Made) {
    put(secret, key::LEAF, &leaf.certificate);
    put(secret, key::LEAF_KEY, &leaf.key);
}

fn put_signer(secret: &mut Secret, authority: &Made) {
    put(secret, key::SIGNER_KEY, &authority.key);
}

fn put(secret: &mut Secret, key: &str, value: &str) {
    let data = secret.data.get_or_insert_default();
    data.insert(key.to_owned(), ByteString(value.as_bytes().to_vec()));
}
