//! From the first bytes of a connection to a decision: more bytes, whom to dial for, or a refusal.
//!
//! The end of the header is a security boundary: not one byte of it reaches the app, not one byte
//! after it is looked at. How the bytes were cut into pieces never changes the answer.

use std::time::Duration;

use proxyunwrap_header::{
    self as header, Endpoints, Header, Progress, Resemblance, Rules, Version,
};

use super::claim::{self, Claims, Own};
use super::outcome::{HeaderError, Outcome};
use crate::address::{Client, Peer};
use crate::trust::Rule;

/// What a port demands of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderPolicy {
    /// Grammar, versions and size.
    pub rules: Rules,
    /// From accept to the last byte of the header.
    pub timeout: Duration,
    /// What becomes of headers that name no client.
    pub without_client: WithoutClient,
    /// Which clients may be named.
    pub claims: Claims,
}

/// What to do with LOCAL, UNKNOWN and UNSPEC headers, which name no client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WithoutClient {
    /// Dial as the peer: the specification's "real connection endpoints".
    #[default]
    AsPeer,
    /// Close, except LOCAL, which the specification makes everybody accept.
    Refuse,
}

/// What the bytes so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// At least this many more bytes are needed.
    NeedMore(usize),
    /// Dial the app for this client; the first `skip` bytes are the header's.
    Dial {
        /// Whom the app is to see.
        client: Client,
        /// Length of the header in bytes; 0 without one.
        skip: usize,
        /// Version of the header; None without one.
        version: Option<Version>,
    },
    /// Close, and count why. With the version when a whole header was read.
    Refuse(Outcome, Option<Version>),
}

/// Decides from every byte received so far. `rule` is the one for this peer.
pub fn decide(rule: Rule, peer: Peer, bytes: &[u8], policy: &HeaderPolicy, own: &Own) -> Decision {
    let as_peer = Decision::Dial {
        client: peer.into(),
        skip: 0,
        version: None,
    };
    match (rule, header::resembles(bytes)) {
        (Rule::Pass, _) => as_peer,
        (Rule::Forbid | Rule::Optional, Resemblance::No) => as_peer,
        (Rule::Forbid, Resemblance::Perhaps) => Decision::NeedMore(1),
        (Rule::Forbid, Resemblance::Header(_)) => refuse(HeaderError::Forbidden),
        (Rule::Require | Rule::Optional, _) => match header::parse(bytes, &policy.rules) {
            Ok(Progress::NeedMore(n)) => Decision::NeedMore(n),
            Ok(Progress::Complete(header)) => dial(&header, peer, policy, own),
            Err(invalid) => refuse(HeaderError::Invalid(invalid)),
        },
    }
}

/// The peer closed, or failed, after `bytes` of the beginning.
pub fn ended(bytes: usize) -> Outcome {
    match bytes {
        0 => Outcome::EmptyProbe,
        _ => Outcome::BadHeader(HeaderError::Truncated),
    }
}

fn dial(header: &Header<'_>, peer: Peer, policy: &HeaderPolicy, own: &Own) -> Decision {
    let version = Some(header.version);
    let skip = header.len;
    let claimed = match header.endpoints {
        Endpoints::Addresses { client, .. } => Client::new(client),
        Endpoints::Unknown(_) if policy.without_client == WithoutClient::Refuse => {
            let outcome = Outcome::BadHeader(HeaderError::WithoutClient);
            return Decision::Refuse(outcome, version);
        }
        Endpoints::Local | Endpoints::Unknown(_) => {
            return Decision::Dial {
                client: peer.into(),
                skip,
                version,
            };
        }
    };
    match claim::check(claimed, &policy.claims, own) {
        Ok(client) => Decision::Dial {
            client,
            skip,
            version,
        },
        Err(refusal) => Decision::Refuse(Outcome::RefusedClient(refusal), version),
    }
}

fn refuse(error: HeaderError) -> Decision {
    Decision::Refuse(Outcome::BadHeader(error), None)
}

#[cfg(test)]
mod tests;
