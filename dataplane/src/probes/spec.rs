//! Probes as they are written, and as they are checked: the JSON of `--probes`.
//!
//! The operator writes it from the probes and hooks that it takes out of the pod. What kubelet would
//! refuse or could not send is refused at start, with the key it stands under.

mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::connection::ladder::Apps;
use written::Written;

/// Which probe: `<container>/<kind>`, as in `web/liveness`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The container's name.
    pub container: String,
    /// What kubelet asks for.
    pub kind: Kind,
}

/// What kubelet asks for. A closed set: the `kind` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `livenessProbe`
    Liveness,
    /// `readinessProbe`
    Readiness,
    /// `startupProbe`
    Startup,
    /// `lifecycle.postStart`
    PostStart,
    /// `lifecycle.preStop`
    PreStop,
}

impl Kind {
    /// Every kind, in the order of the counters.
    pub const ALL: [Self; 5] = [
        Self::Liveness,
        Self::Readiness,
        Self::Startup,
        Self::PostStart,
        Self::PreStop,
    ];

    /// The word in keys, paths and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
            Self::Startup => "startup",
            Self::PostStart => "postStart",
            Self::PreStop => "preStop",
        }
    }

    /// Whether this is a hook: kubelet takes any answer for done, and only a lost one for failed.
    pub fn is_hook(self) -> bool {
        match self {
            Self::PostStart | Self::PreStop => true,
            Self::Liveness | Self::Readiness | Self::Startup => false,
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not CONTAINER/KIND, as in web/liveness");
        let (container, kind) = text.split_once('/').ok_or_else(form)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=63).contains(&container.len()) || !container.chars().all(plain) {
            return Err(form());
        }
        let known = Kind::ALL.into_iter().find(|known| known.label() == kind);
        let kind = known.ok_or_else(|| {
            let known = Kind::ALL.map(Kind::label).join(", ");
            format!("{kind:?} is no kind of probe; write one of {known}")
        })?;
        let container = container.to_owned();
        Ok(Self { container, kind })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.container, self.kind.label())
    }
}

/// One probe, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Where the app listens.
    pub apps: Apps,
    /// From the first connect to the answer's end.
    pub timeout: Duration,
    /// What to do there.
    pub action: Action,
}

/// What to do at the app.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a GET; the answer's status counts.
    Http(Request),
    /// Connect.
    Tcp,
    /// Call `grpc.health.v1.Health/Check` for this service; "" is the whole app.
    Grpc(String),
}

/// The GET of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Whether to speak TLS.
    pub tls: bool,
    /// Path and query, ready for the request line.
    pub target: String,
    /// Host, where it is not the address that kubelet asked.
    pub host: Option<String>,
    /// User-Agent, where it is not kubelet's; empty sends none.
    pub agent: Option<String>,
    /// All other headers.
    pub headers: Vec<(String, String)>,
}

/// Why `--probes` is refused. Each message names the key and the fix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or not of the form.
    #[error("--probes: {path}: {message}")]
    Form {
        /// The field, as in `web/liveness.http.path`.
        path: String,
        /// What is wrong and where.
        message: String,
    },
    /// A value that fits no probe.
    #[error("--probes: {key}: {message}")]
    Value {
        /// The probe.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

/// Reads the JSON object of `--probes`.
///
/// # Errors
/// The first thing that is wrong, with the key it stands under.
pub fn parse(json: &str) -> Result<BTreeMap<Key, Probe>, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let written: BTreeMap<String, Written> = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| form(&error.path().to_string(), error.inner()))?;
    deserializer.end().map_err(|error| form(".", &error))?;
    let probes = written.into_iter().map(|(key, written)| {
        let refused = |message| Error::Value {
            key: key.clone(),
            message,
        };
        let parsed = key.parse().map_err(refused)?;
        Ok((parsed, written.checked().map_err(refused)?))
    });
    probes.collect()
}

fn form(path: &str, error: &serde_json::Error) -> Error {
    let path = match path {
        "" | "." => "the text must be a JSON object of probes",
        path => path,
    };
    Error::Form {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests;
