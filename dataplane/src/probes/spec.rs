//! Probes as they are written, and as they are checked: the JSON of `--probes`.
//!
//! The operator writes it from the probes and hooks that it takes out of the pod. What kubelet would
//! refuse or could not send is refused at start, with the key it stands under.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::http::url;
use crate::config::values::{App, Span};
use crate::connection::ladder::Apps;

/// A service's name and what goes with it fit one frame of HTTP/2 by far.
const MAX_SERVICE: usize = 1024;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    app: App,
    timeout: Span,
    http: Option<WrittenHttp>,
    tcp: Option<WrittenTcp>,
    grpc: Option<WrittenGrpc>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenHttp {
    #[serde(default)]
    scheme: Scheme,
    #[serde(default)]
    path: String,
    host: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    #[default]
    Http,
    Https,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTcp {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGrpc {
    service: Option<String>,
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

impl Written {
    fn checked(self) -> Result<Probe, String> {
        let apps = self
            .app
            .apps()
            .ok_or("app: give ipv4, ipv6 or both, as in {\"ipv4\":\"127.0.0.1:8080\"}")?;
        let ports = [apps.ipv4.map(|at| at.port()), apps.ipv6.map(|at| at.port())];
        if ports.contains(&Some(0)) {
            return Err("app: port 0 is nowhere; give the port that the app listens on".to_owned());
        }
        if self.timeout.0.is_zero() {
            return Err("timeout: no app answers within 0s; give 1s or more".to_owned());
        }
        let action = match (self.http, self.tcp, self.grpc) {
            (Some(http), None, None) => Action::Http(http.checked()?),
            (None, Some(WrittenTcp {}), None) => Action::Tcp,
            (None, None, Some(grpc)) => Action::Grpc(grpc.checked()?),
            (None, None, None) => {
                return Err("nothing to do; give one of http, tcp and grpc".to_owned());
            }
            _ => return Err("several things to do; keep one of http, tcp and grpc".to_owned()),
        };
        Ok(Probe {
            apps,
            timeout: self.timeout.0,
            action,
        })
    }
}

impl WrittenGrpc {
    fn checked(self) -> Result<String, String> {
        let service = self.service.unwrap_or_default();
        match service.len() {
            0..=MAX_SERVICE => Ok(service),
            len => Err(format!(
                "grpc.service: {len} bytes; a name of at most {MAX_SERVICE} is sent"
            )),
        }
    }
}

impl WrittenHttp {
    fn checked(self) -> Result<Request, String> {
        if let Some(host) = &self.host {
            sendable("http.host", host)?;
        }
        for (name, value) in &self.headers {
            HeaderName::from_str(name)
                .map_err(|_| format!("http.headers: {name:?} is no name of a header"))?;
            sendable(&format!("http.headers: {name}"), value)?;
        }
        let first = |wanted: &str| {
            let mut found = self.headers.iter();
            let found = found.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.trim().to_owned())
        };
        let host = first("host")
            .filter(|host| !host.is_empty())
            .or_else(|| self.host.clone())
            .filter(|host| !host.is_empty());
        Ok(Request {
            tls: self.scheme == Scheme::Https,
            target: url::target(&self.path),
            host,
            agent: first("user-agent"),
            headers: others(self.headers),
        })
    }
}

/// The headers that are sent as they are. Those of the connection and of the body are ours to say;
/// without an Accept, kubelet accepts everything, and an empty one sends none.
fn others(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    const OURS: [&str; 6] = [
        "host",
        "user-agent",
        "connection",
        "content-length",
        "transfer-encoding",
        "trailer",
    ];
    let is_accept = |name: &str| name.eq_ignore_ascii_case("accept");
    let accept = headers.iter().find(|(name, _)| is_accept(name));
    let added = accept.is_none();
    let dropped = accept.is_some_and(|(_, value)| value.trim().is_empty());
    let mut kept: Vec<_> = headers
        .into_iter()
        .filter(|(name, _)| !OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)))
        .filter(|(name, _)| !(dropped && is_accept(name)))
        .collect();
    if added {
        kept.push(("Accept".to_owned(), "*/*".to_owned()));
    }
    kept
}

/// Go's client, and so kubelet, refuses to send control characters.
fn sendable(what: &str, value: &str) -> Result<(), String> {
    match HeaderValue::from_str(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "{what}: {value:?} has a control character, which no header may have"
        )),
    }
}

#[cfg(test)]
mod tests;
