//! Probes and hooks that aim at an unwrapped port: the kubelet sends no header and would be refused,
//! so they go to the sidecar's admin port, and the sidecar asks the app as the kubelet would have.
//!
//! What a probe was stands in a variable of the sidecar, by `<container>/<kind>`. A pod that comes
//! again (another webhook changed it, or it is a copy) has its probes rewritten already: what they
//! were is kept, also when they need not be rewritten any more.

use std::collections::BTreeMap;

use hyper::header::{HeaderName, HeaderValue};
use json_patch::jsonptr::PointerBuf;
use proxyunwrap_api::names::{ADMIN_PORT, APP_PROBE, INIT_CONTAINER, PROBES, SIDECAR};
use proxyunwrap_api::ports::App;
use serde_json::{Map, Value, json};

use super::Injection;
use super::edit::{Edit, at};
use crate::refusal::{Reason, Refusal};

/// A kind of probe or hook.
struct Kind {
    /// Its name to the sidecar.
    name: &'static str,
    /// Where in a container it is.
    path: &'static [&'static str],
    /// Seconds that the kubelet waits; None for a probe, which says so itself.
    hook_seconds: Option<fn(&Edit) -> i64>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "liveness",
        path: &["livenessProbe"],
        hook_seconds: None,
    },
    Kind {
        name: "readiness",
        path: &["readinessProbe"],
        hook_seconds: None,
    },
    Kind {
        name: "startup",
        path: &["startupProbe"],
        hook_seconds: None,
    },
    Kind {
        name: "postStart",
        path: &["lifecycle", "postStart"],
        hook_seconds: Some(no_end),
    },
    Kind {
        name: "preStop",
        path: &["lifecycle", "preStop"],
        hook_seconds: Some(grace_period),
    },
];

/// Longest name of a gRPC service that the sidecar sends.
const LONGEST_SERVICE: usize = 1024;

/// What the sidecar answers for the app, by `<container>/<kind>`.
#[derive(Default)]
pub(super) struct Probes(BTreeMap<String, Value>);

impl Probes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As JSON. A dollar is written by its number: the kubelet would look for a variable behind it.
    pub(super) fn text(&self) -> String {
        json!(self.0).to_string().replace('$', "\\u0024")
    }
}

/// Sends probes to the sidecar, and tells what they were.
pub(super) fn rewrite(edit: &mut Edit, injection: &Injection) -> Result<Probes, Refusal> {
    let mut earlier = earlier(edit);
    let mut probes = Probes::default();
    for container in serving(edit) {
        for kind in &KINDS {
            let tokens = kind.path.iter();
            let place = tokens.fold(container.place.clone(), |place, token| {
                place.with_trailing_token(*token)
            });
            let key = format!("{}/{}", container.name, kind.name);
            if is_ours(edit, &place, &key) {
                let was = earlier
                    .remove(&key)
                    .ok_or_else(|| lost(&container.name, kind))?;
                probes.0.insert(key, was);
            } else if let Some(was) = original(edit, &container.place, &place, kind, injection) {
                send_to_us(edit, &place, &key)?;
                probes.0.insert(key, was);
            }
        }
    }
    Ok(probes)
}

/// A container that serves beside ours.
struct Serving {
    name: String,
    place: PointerBuf,
}

/// The app's containers, and native sidecars of others.
fn serving(edit: &Edit) -> Vec<Serving> {
    let mut all = Vec::new();
    for list in ["containers", "initContainers"] {
        let place = at(["spec", list]);
        for (index, container) in edit.items(&place).iter().enumerate() {
            let name = container["name"].as_str().unwrap_or_default();
            let serves = list == "containers" || container["restartPolicy"] == "Always";
            if serves && ![SIDECAR, INIT_CONTAINER].contains(&name) {
                let (name, place) = (name.to_owned(), place.with_trailing_token(index));
                all.push(Serving { name, place });
            }
        }
    }
    all
}

/// What the sidecar that is there answers for the app.
fn earlier(edit: &Edit) -> BTreeMap<String, Value> {
    let list = at(["spec", "initContainers"]);
    let env = edit
        .named(&list, SIDECAR)
        .map(|index| list.with_trailing_token(index).with_trailing_token("env"));
    let variable = env.and_then(|env| {
        let index = edit.named(&env, PROBES)?;
        edit.items(&env)[index]["value"].as_str().map(str::to_owned)
    });
    let text = variable.unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Whether a probe leads to us already.
fn is_ours(edit: &Edit, place: &PointerBuf, key: &str) -> bool {
    let action = edit.get(place).and_then(|handler| handler.get("httpGet"));
    action.is_some_and(|get| get["port"] == ADMIN_PORT && get["path"] == our_path(key))
}

fn our_path(key: &str) -> String {
    format!("{APP_PROBE}/{key}")
}

fn lost(container: &str, kind: &Kind) -> Refusal {
    let field = kind.path.join(".");
    let message = format!(
        "{field} of container {container:?} leads to the sidecar of another pod, and what it was \
         is not known; write it anew"
    );
    Refusal::new(Reason::AlreadyInjected, message)
}

/// What a probe or hook is, if it aims at an unwrapped port and the sidecar can ask in its place.
fn original(
    edit: &Edit,
    container: &PointerBuf,
    place: &PointerBuf,
    kind: &Kind,
    injection: &Injection,
) -> Option<Value> {
    let handler = edit.get(place)?;
    let container = edit.get(container)?;
    let (action, asked, port) = action(handler, kind.hook_seconds.is_some())?;
    let port = number(port, container)?;
    let index = injection
        .ports
        .iter()
        .position(|unwrapped| unwrapped.port == port)?;
    let app = injection.probed.get(index)?.as_ref();
    let seconds = match kind.hook_seconds {
        Some(seconds) => seconds(edit),
        None => handler["timeoutSeconds"].as_i64().unwrap_or(1),
    };
    let mut was =
        json!({ "app": app_address(app, port), "timeout": format!("{}s", seconds.max(1)) });
    was[action] = asked;
    Some(was)
}

/// What is asked of the app, in the sidecar's words, and at which port.
fn action(handler: &Value, is_hook: bool) -> Option<(&'static str, Value, &Value)> {
    let elsewhere = |action: &Value| action["host"].as_str().is_some_and(|host| !host.is_empty());
    if let Some(get) = handler.get("httpGet").filter(|get| get.is_object()) {
        let port = get.get("port").filter(|_| !elsewhere(get))?;
        return Some(("http", http(get)?, port));
    }
    // As hooks these do nothing, or are refused.
    if is_hook {
        return None;
    }
    if let Some(tcp) = handler.get("tcpSocket").filter(|tcp| tcp.is_object()) {
        let port = tcp.get("port").filter(|_| !elsewhere(tcp))?;
        return Some(("tcp", json!({}), port));
    }
    let grpc = handler.get("grpc").filter(|grpc| grpc.is_object())?;
    let service = grpc["service"].as_str().unwrap_or_default();
    let asked = match service.len() {
        0 => json!({}),
        1..=LONGEST_SERVICE => json!({ "service": service }),
        _ => return None,
    };
    Some(("grpc", asked, grpc.get("port")?))
}

/// None for headers that nobody can send: such a probe fails as it is, and must not end the sidecar.
fn http(get: &Value) -> Option<Value> {
    let headers = get["httpHeaders"].as_array().into_iter().flatten();
    let headers: Option<Vec<Value>> = headers
        .map(|header| {
            let name = header["name"].as_str()?;
            let value = header["value"].as_str().unwrap_or_default();
            let sendable =
                name.parse::<HeaderName>().is_ok() && value.parse::<HeaderValue>().is_ok();
            sendable.then(|| json!([name, value]))
        })
        .collect();
    let headers = headers?;
    let scheme = match get["scheme"].as_str() {
        Some("HTTPS") => "https",
        _ => "http",
    };
    let mut asked = json!({ "scheme": scheme, "path": get["path"].as_str().unwrap_or("/") });
    if !headers.is_empty() {
        asked["headers"] = headers.into();
    }
    Some(asked)
}

/// A probe's port by number, or by a name of the same container.
fn number(port: &Value, container: &Value) -> Option<u16> {
    let Some(name) = port.as_str() else {
        return u16::try_from(port.as_u64()?).ok();
    };
    let mut ports = container["ports"].as_array().into_iter().flatten();
    match ports.find(|declared| declared["name"] == name) {
        Some(declared) => u16::try_from(declared["containerPort"].as_u64()?).ok(),
        None => name.parse().ok(),
    }
}

fn app_address(app: Option<&App>, port: u16) -> Value {
    match app {
        None => json!(port),
        Some(App {
            port: Some(port), ..
        }) => json!(port),
        Some(App { ipv4, ipv6, .. }) => {
            let both = [("ipv4", ipv4), ("ipv6", ipv6)];
            let given = both.into_iter().filter_map(|(family, address)| {
                Some((family.to_owned(), json!(address.as_ref()?)))
            });
            Value::Object(given.collect::<Map<_, _>>())
        }
    }
}

/// The kubelet's own settings (period, thresholds …) stay as they are.
fn send_to_us(edit: &mut Edit, place: &PointerBuf, key: &str) -> Result<(), Refusal> {
    for other in ["tcpSocket", "grpc"] {
        edit.remove(place.with_trailing_token(other))?;
    }
    let get = place.with_trailing_token("httpGet");
    edit.put_in(&get, "path", our_path(key).into())?;
    edit.put_in(&get, "port", ADMIN_PORT.into())?;
    edit.put_in(&get, "scheme", "HTTP".into())?;
    edit.remove(get.with_trailing_token("httpHeaders"))
}

/// The kubelet waits for the end of a postStart hook as long as it takes.
fn no_end(_: &Edit) -> i64 {
    3600
}

/// A preStop hook may take all of the grace period.
fn grace_period(edit: &Edit) -> i64 {
    let seconds = edit.get(&at(["spec", "terminationGracePeriodSeconds"]));
    seconds.and_then(Value::as_i64).unwrap_or(30)
}
