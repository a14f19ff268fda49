//! A small API server in memory: lists, watches, merges; it can be away, and it can forget.
//!
//! What it has in common with a real one is what the operator relies on: resource versions that
//! guard changes, watches that go on from a version, 410 for a version that is forgotten, and
//! selection by name.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The server. Clones share it.
#[derive(Clone)]
pub struct Api {
    state: Arc<Mutex<State>>,
    /// Changes whenever anything does.
    changed: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct State {
    version: u64,
    /// By collection, namespace and name.
    objects: BTreeMap<(String, String, String), Value>,
    /// Version, collection, kind of change, object.
    log: Vec<(u64, String, &'static str, Value)>,
    /// Versions up to this one are forgotten.
    forgotten: u64,
    away: bool,
    /// Watches of an earlier epoch end.
    epoch: u64,
    /// Method and path of every request that changes something.
    changes: Vec<String>,
}

/// What a request is about.
struct Target {
    collection: String,
    namespace: Option<String>,
    name: Option<String>,
}

impl Api {
    pub fn new() -> Self {
        Self {
            state: Arc::default(),
            changed: Arc::new(watch::Sender::new(0)),
        }
    }

    pub fn client(&self) -> Client {
        let api = self.clone();
        let answer = move |request: Request<kube::client::Body>| {
            let api = api.clone();
            async move { api.answer(request).await }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// Stores an object; `path` is where it is read, such as `/api/v1/namespaces/shop/pods/web`.
    pub fn put(&self, path: &str, object: Value) {
        let target = target(path);
        self.store(&target, object);
    }

    pub fn delete(&self, path: &str) {
        let target = target(path);
        let mut state = self.lock();
        let object = state.objects.remove(&target.key()).unwrap();
        state.record(&target, "DELETED", object);
        drop(state);
        self.tell();
    }

    pub fn get(&self, path: &str) -> Value {
        let state = self.lock();
        let object = state.objects.get(&target(path).key());
        object.cloned().unwrap_or_default()
    }

    /// Ends every watch, and refuses all requests until it is back.
    pub fn set_away(&self, away: bool) {
        let mut state = self.lock();
        state.away = away;
        state.epoch += 1;
        drop(state);
        self.tell();
    }

    /// Forgets everything but the present state: watches have to list anew.
    pub fn forget(&self) {
        let mut state = self.lock();
        state.forgotten = state.version;
        state.log.clear();
    }

    /// Method and path of every request that changed something.
    pub fn changes(&self) -> Vec<String> {
        self.lock().changes.clone()
    }

    async fn answer(&self, request: Request<kube::client::Body>) -> io::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let path = parts.uri.path().to_owned();
        let target = target(&path);
        let query: BTreeMap<_, _> = parts
            .uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        if self.lock().away {
            return Err(io::Error::other("the API server is away"));
        }
        if parts.method != Method::GET {
            let line = format!("{} {path}", parts.method);
            self.lock().changes.push(line);
        }
        let target = Target {
            name: target.name.or_else(|| {
                let selector = query.get("fieldSelector")?;
                Some(selector.strip_prefix("metadata.name%3D")?.to_owned())
            }),
            ..target
        };
        let single = !query.contains_key("fieldSelector") && target.name.is_some();
        Ok(match (parts.method, query.get("watch")) {
            (Method::GET, Some(_)) => self.watch(target, version(&query)),
            (Method::GET, None) if single => self.read(&target),
            (Method::GET, None) => self.list(&target),
            (Method::PUT, _) => self.replace(&target, serde_json::from_slice(&body).unwrap()),
            (Method::PATCH, _) => self.change(&target, serde_json::from_slice(&body).unwrap()),
            (Method::POST, _) => {
                let object: Value = serde_json::from_slice(&body).unwrap();
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let name = Some(name);
                self.change(&Target { name, ..target }, object)
            }
            (method, _) => panic!("{method} {path}"),
        })
    }

    fn read(&self, target: &Target) -> Response<Body> {
        match self.lock().objects.get(&target.key()) {
            Some(object) => answer(200, object),
            None => answer(404, &status(404, "NotFound")),
        }
    }

    fn list(&self, target: &Target) -> Response<Body> {
        let state = self.lock();
        let objects = state.objects.iter();
        let items: Vec<_> = objects
            .filter(|((collection, _, _), object)| target.means(collection, object))
            .map(|(_, object)| object)
            .collect();
        let version = state.version.to_string();
        let list = json!({
            "kind": "List", "apiVersion": "v1",
            "metadata": { "resourceVersion": version }, "items": items,
        });
        answer(200, &list)
    }

    /// Goes on until the server goes away, or the version is forgotten.
    fn watch(&self, target: Target, from: u64) -> Response<Body> {
        let epoch = self.lock().epoch;
        let changed = self.changed.subscribe();
        let begin = (self.clone(), target, from, changed, false);
        let lines = stream::unfold(
            begin,
            move |(api, target, from, mut changed, ended)| async move {
                loop {
                    if ended {
                        return None;
                    }
                    changed.borrow_and_update();
                    let (lines, at, over) = api.since(&target, from);
                    if !lines.is_empty() {
                        return Some((lines, (api, target, at, changed, over)));
                    }
                    if api.lock().epoch != epoch || changed.changed().await.is_err() {
                        return None;
                    }
                }
            },
        );
        let frames = lines.map(|lines| Ok(Frame::data(Bytes::from(lines))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    /// Lines for a watch from a version on, the version they lead to, and whether it ends there.
    fn since(&self, target: &Target, from: u64) -> (String, u64, bool) {
        let state = self.lock();
        if from < state.forgotten {
            let gone = json!({ "type": "ERROR", "object": status(410, "Expired") });
            return (format!("{gone}\n"), from, true);
        }
        let news = state.log.iter().filter(|(version, ..)| *version > from);
        let own = news.filter(|(_, collection, _, object)| target.means(collection, object));
        let lines = own.map(|(_, _, kind, object)| {
            let line = json!({ "type": kind, "object": object });
            format!("{line}\n")
        });
        (lines.collect(), state.version, false)
    }

    fn replace(&self, target: &Target, object: Value) -> Response<Body> {
        match self.guard(target, &object) {
            Ok(_) => answer(200, &self.store(target, object)),
            Err(conflict) => conflict,
        }
    }

    /// Merges into what is there.
    fn change(&self, target: &Target, change: Value) -> Response<Body> {
        match self.guard(target, &change) {
            Ok(mut object) => {
                merge(&mut object, change);
                answer(200, &self.store(target, object))
            }
            Err(conflict) => conflict,
        }
    }

    /// What is there: a resource version that is given has to be its own.
    #[allow(clippy::result_large_err, reason = "a test's")]
    fn guard(&self, target: &Target, change: &Value) -> Result<Value, Response<Body>> {
        let object = self.lock().objects.get(&target.key()).cloned();
        let object = object.unwrap_or_else(|| json!({}));
        let given = &change["metadata"]["resourceVersion"];
        match given.is_null() || *given == object["metadata"]["resourceVersion"] {
            true => Ok(object),
            false => Err(answer(409, &status(409, "Conflict"))),
        }
    }

    fn store(&self, target: &Target, mut object: Value) -> Value {
        let mut state = self.lock();
        state.version += 1;
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(target.name);
        if let Some(namespace) = &target.namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata["resourceVersion"] = json!(state.version.to_string());
        let before = state.objects.insert(target.key(), object.clone());
        let kind = if before.is_some() {
            "MODIFIED"
        } else {
            "ADDED"
        };
        let entry = (
            state.version,
            target.collection.clone(),
            kind,
            object.clone(),
        );
        state.log.push(entry);
        drop(state);
        self.tell();
        object
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn record(&mut self, target: &Target, kind: &'static str, object: Value) {
        self.version += 1;
        let entry = (self.version, target.collection.clone(), kind, object);
        self.log.push(entry);
    }
}

impl Target {
    fn key(&self) -> (String, String, String) {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        (
            self.collection.clone(),
            text(&self.namespace),
            text(&self.name),
        )
    }

    fn means(&self, collection: &str, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let same = |want: &Option<String>, field: &Value| {
            want.as_ref()
                .is_none_or(|want| field.as_str() == Some(want))
        };
        self.collection == collection
            && same(&self.namespace, &metadata["namespace"])
            && same(&self.name, &metadata["name"])
    }
}

/// `/api/v1/…` or `/apis/GROUP/VERSION/…`, then `[namespaces/NAMESPACE/]PLURAL[/NAME[/SUB]]`.
fn target(path: &str) -> Target {
    let parts: Vec<_> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts[0] {
        "api" => parts.split_at(2),
        _ => parts.split_at(3),
    };
    let own = |text: &&str| (*text).to_owned();
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        rest => (None, rest),
    };
    Target {
        collection: format!("{}/{}", group.join("/"), rest[0]),
        namespace: namespace.map(str::to_owned),
        name: rest.get(1).map(own),
    }
}

fn version(query: &BTreeMap<&str, &str>) -> u64 {
    let version = query.get("resourceVersion");
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// RFC 7396, and lists of webhooks by their names as a strategic merge does it.
fn merge(into: &mut Value, change: Value) {
    let Value::Object(change) = change else {
        *into = change;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in change {
        match value {
            Value::Null => {
                into.as_object_mut().unwrap().remove(&key);
            }
            Value::Array(entries) if key == "webhooks" => {
                for entry in entries {
                    let all = into[&key].as_array_mut().unwrap();
                    let own = all.iter_mut().find(|one| one["name"] == entry["name"]);
                    merge(own.unwrap(), entry);
                }
            }
            value => merge(&mut into[&key], value),
        }
    }
}

fn status(code: u16, reason: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code,
    })
}

fn answer(code: u16, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string()));
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = code.try_into().unwrap();
    response
}
