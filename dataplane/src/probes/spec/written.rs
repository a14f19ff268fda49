//! One probe as it stands in the JSON, and its way to a checked one.

use std::str::FromStr;

use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::{Action, Probe, Request};
use crate::config::values::{App, Span};
use crate::probes::http::url;

/// A service's name and what goes with it fit one frame of HTTP/2 by far.
pub(super) const MAX_SERVICE: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Written {
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

impl Written {
    pub(super) fn checked(self) -> Result<Probe, String> {
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
