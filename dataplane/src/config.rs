//! What we will do: checked values, made from a file or from go-mmproxy's flags.
//!
//! A configuration that could fail open is refused: an empty list of peers, a version that nobody
//! may use, an app that is ourselves. Every message names the field.

pub mod compat;
pub mod file;
pub mod values;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proxyunwrap_header::{Rules, TlvRule, V2_MAX_LEN};

use crate::connection::Policy;
use crate::connection::claim::Claims;
use crate::connection::intake::HeaderPolicy;
use crate::trust::{self, Rule, Trust};
use file::File;
use values::Listen;

/// The specification, section 2: a receiver may give up after "at least 3 seconds".
const MIN_HEADER_TIMEOUT: Duration = Duration::from_secs(3);

/// A configuration for a pod that just came takes a second to arrive; a descriptor waits meanwhile.
const MAX_UNTRUSTED_WAIT: Duration = Duration::from_secs(10);

/// The longest header without TLVs: 16 bytes and two AF_UNIX addresses (216).
const MIN_MAX_BYTES: usize = 232;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no configuration.
    #[error("{path}: {message}")]
    Syntax {
        /// The field, as in `ports[0].header`.
        path: String,
        /// What is wrong and where.
        message: String,
    },
    /// A value is out of its range, or fits no other value.
    #[error("{path}: {message}")]
    Value {
        /// The field, as in `ports[0].header.timeout`.
        path: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// Another format than ours.
    #[error("version: {0} is not known; this program reads version 1")]
    Version(u32),
    /// A list of peers that cannot be used.
    #[error("{path}")]
    Peers {
        /// The field, as in `ports[0].peers`.
        path: String,
        /// What is wrong with it.
        #[source]
        source: trust::Error,
    },
}

/// Checked values, and the text they came from for `/config`.
#[derive(Debug)]
pub struct Config {
    /// The ports, in order.
    pub ports: Vec<Arc<Port>>,
    /// As written, defaults filled in.
    pub file: File,
}

/// One port, checked.
#[derive(Debug)]
pub struct Port {
    /// Its name in logs.
    pub name: Arc<str>,
    /// Where we listen.
    pub listen: Listen,
    /// The port that `init` steers to us.
    pub redirect: Option<u16>,
    /// Whom to believe.
    pub trust: Trust,
    /// How long others wait for a configuration that believes them.
    pub untrusted_wait: Duration,
    /// What its connections are held to.
    pub policy: Policy,
}

impl Config {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first thing that is wrong, with the field it is in.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut path = String::new();
        let file: Result<File, _> = serde_saphyr::with_deserializer_from_str(text, |yaml| {
            serde_path_to_error::deserialize(yaml).map_err(|error| {
                path = error.path().to_string();
                error.into_inner()
            })
        });
        let file = file.map_err(|error| syntax(&path, &error))?;
        Self::new(file)
    }

    /// Checks values.
    ///
    /// # Errors
    /// The first thing that is wrong, with the field it is in.
    pub fn new(file: File) -> Result<Self, Error> {
        if file.version != 1 {
            return Err(Error::Version(file.version));
        }
        if file.ports.is_empty() {
            return Err(value("ports", "no port to unwrap; list at least one"));
        }
        if file.workers == Some(0) {
            return Err(value(
                "workers",
                "0 workers would serve nobody; leave it out",
            ));
        }
        check_limits(&file.limits)?;
        let ports: Result<Vec<_>, _> = file.ports.iter().enumerate().map(port).collect();
        let ports = ports?;
        check_unique(&ports)?;
        Ok(Self { ports, file })
    }

    /// Port pairs that `init` steers: what peers dial, and where we listen.
    pub fn redirects(&self) -> Vec<(u16, u16)> {
        let listening = |port: &Port| port.listen.addresses(true).first().map(SocketAddr::port);
        let pairs = self
            .ports
            .iter()
            .filter_map(|port| Some((port.redirect?, listening(port)?)));
        pairs.filter(|(from, to)| from != to).collect()
    }
}

fn port((index, written): (usize, &file::Port)) -> Result<Arc<Port>, Error> {
    let path = format!("ports[{index}]");
    check_name(&path, &written.name)?;
    let app = match (written.app, written.port) {
        (Some(app), _) => app,
        (None, Some(port)) => values::App::Port(port),
        (None, None) => {
            return Err(value(
                &format!("{path}.app"),
                "say where the app listens, as in 8080",
            ));
        }
    };
    let apps = app.apps().ok_or_else(|| {
        value(
            &format!("{path}.app"),
            "give ipv4, ipv6 or both, as in {ipv4: 127.0.0.1:8080}",
        )
    })?;
    let policy = Policy {
        header: header_policy(&path, written)?,
        apps,
        missing_family: written.missing_family,
        connect_timeout: written.timeouts.connect.0,
        idle_timeout: written.timeouts.idle.map(|idle| idle.0),
    };
    let port = Port {
        name: written.name.as_str().into(),
        listen: written.listen.clone(),
        redirect: written.port,
        trust: trust(&path, &written.peers)?,
        untrusted_wait: untrusted_wait(&path, &written.peers)?,
        policy,
    };
    check_listen(&path, &port)?;
    Ok(Arc::new(port))
}

fn header_policy(path: &str, written: &file::Port) -> Result<HeaderPolicy, Error> {
    let header = &written.header;
    let path = format!("{path}.header");
    if header.timeout.0 < MIN_HEADER_TIMEOUT {
        return Err(value(
            &format!("{path}.timeout"),
            "shorter than 3s, the least the PROXY protocol specification allows (section 2)",
        ));
    }
    if !(MIN_MAX_BYTES..=V2_MAX_LEN).contains(&header.max_bytes) {
        let range = format!(
            "{} is not within {MIN_MAX_BYTES} and {V2_MAX_LEN}",
            header.max_bytes
        );
        return Err(value(&format!("{path}.maxBytes"), &range));
    }
    if header.versions.is_empty() {
        return Err(value(
            &format!("{path}.versions"),
            "no version is accepted; list v1, v2 or both",
        ));
    }
    let rules = Rules {
        v1: header.versions.contains(&file::Version::V1),
        v2: header.versions.contains(&file::Version::V2),
        max_len: header.max_bytes,
        tlvs: match header.tlvs {
            file::Tlvs::Strict => TlvRule::Strict,
            file::Tlvs::Skip => TlvRule::Skip,
        },
        tcp6_v4_literal: header.tcp6_ipv4_literal,
        ..Rules::default()
    };
    let claims = Claims {
        refuse: written
            .claims
            .refuse
            .iter()
            .map(|network| network.0)
            .collect(),
        port_zero: written.claims.port_zero == file::PortZero::Ephemeral,
    };
    let without_client = header.without_client;
    Ok(HeaderPolicy {
        rules,
        timeout: header.timeout.0,
        without_client,
        claims,
    })
}

fn trust(path: &str, peers: &file::Peers) -> Result<Trust, Error> {
    let lists = [&peers.require, &peers.optional, &peers.forbid, &peers.pass];
    let rows = Rule::ALL.into_iter().zip(lists);
    Trust::new(rows.flat_map(|(rule, list)| list.iter().map(move |network| (network.0, rule))))
        .map_err(|source| Error::Peers {
            path: format!("{path}.peers"),
            source,
        })
}

fn untrusted_wait(path: &str, peers: &file::Peers) -> Result<Duration, Error> {
    match peers.untrusted_wait.0 {
        wait if wait <= MAX_UNTRUSTED_WAIT => Ok(wait),
        _ => Err(value(
            &format!("{path}.peers.untrustedWait"),
            "longer than 10s: strangers would fill the place of others",
        )),
    }
}

fn check_name(path: &str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match (1..=63).contains(&name.len()) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(value(
            &format!("{path}.name"),
            &format!("{name:?} is not 1 to 63 lower-case letters, digits and `-`"),
        )),
    }
}

/// A listener on the app's own address would keep the app from binding it, or be dialled itself.
fn check_listen(path: &str, port: &Port) -> Result<(), Error> {
    let addresses = port.listen.addresses(true);
    if addresses.is_empty() || addresses.iter().any(|address| address.port() == 0) {
        return Err(value(
            &format!("{path}.listen"),
            "give a port from 1 to 65535",
        ));
    }
    let apps = port.policy.apps;
    let apps = [
        apps.ipv4.map(SocketAddr::from),
        apps.ipv6.map(SocketAddr::from),
    ];
    for app in apps.into_iter().flatten() {
        let own = |at: &&SocketAddr| {
            at.port() == app.port() && (at.ip() == app.ip() || at.ip().is_unspecified())
        };
        if let Some(address) = addresses.iter().find(own) {
            let text =
                format!("{address} takes the app's own address {app}; listen on another port");
            return Err(value(&format!("{path}.listen"), &text));
        }
    }
    Ok(())
}

fn check_limits(limits: &file::Limits) -> Result<(), Error> {
    let rows = [
        ("connections", limits.connections),
        ("pendingHeaders", limits.pending_headers),
    ];
    match rows.into_iter().find(|(_, limit)| *limit == Some(0)) {
        Some((name, _)) => Err(value(
            &format!("limits.{name}"),
            "0 would serve nobody; leave it out",
        )),
        None => Ok(()),
    }
}

fn check_unique(ports: &[Arc<Port>]) -> Result<(), Error> {
    for (index, port) in ports.iter().enumerate() {
        let path = format!("ports[{index}]");
        for earlier in &ports[..index] {
            if earlier.name == port.name {
                return Err(value(
                    &format!("{path}.name"),
                    &format!("{:?} stands twice", port.name),
                ));
            }
            if earlier.redirect.is_some() && earlier.redirect == port.redirect {
                return Err(value(&format!("{path}.port"), "stands twice"));
            }
            let taken = earlier.listen.addresses(true);
            if let Some(address) = port
                .listen
                .addresses(true)
                .iter()
                .find(|a| taken.contains(a))
            {
                let text = format!("{address} stands twice; each port needs its own");
                return Err(value(&format!("{path}.listen"), &text));
            }
        }
    }
    Ok(())
}

fn value(path: &str, message: &str) -> Error {
    Error::Value {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

fn syntax(path: &str, error: &serde_saphyr::Error) -> Error {
    let path = if path.is_empty() || path == "." {
        "the file"
    } else {
        path
    };
    Error::Syntax {
        path: path.to_owned(),
        message: error.without_snippet().to_string(),
    }
}

#[cfg(test)]
mod tests;
