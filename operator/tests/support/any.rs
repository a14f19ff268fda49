//! Any JSON, and pods of the cases with anything in some places.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Words that mean something somewhere in a pod, so that nonsense gets further.
const WORDS: [&str; 40] = [
    "metadata",
    "annotations",
    "labels",
    "ownerReferences",
    "name",
    "spec",
    "containers",
    "initContainers",
    "volumes",
    "ports",
    "containerPort",
    "protocol",
    "UDP",
    "TCP",
    "http",
    "web",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
    "preStop",
    "httpGet",
    "tcpSocket",
    "grpc",
    "port",
    "path",
    "host",
    "httpHeaders",
    "value",
    "scheme",
    "HTTPS",
    "restartPolicy",
    "Always",
    "env",
    "resources",
    "limits",
    "cpu",
    "1500m",
    "proxyunwrap",
    "proxyunwrap-init",
    "PROXYUNWRAP_PROBES",
];

/// Any JSON.
pub fn json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![3 => select(&WORDS[..]).prop_map(str::to_owned), 1 => any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        prop_oneof![Just(8080), Just(15090), Just(15001)].prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        word.clone().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let map = prop::collection::vec((word.clone(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            map.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// What is done at a place: something else stands there, or nothing.
pub type Change = (prop::sample::Index, Option<Value>);

/// A few changes.
pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            prop::option::weighted(0.8, json()),
        ),
        0..4,
    )
}

/// A value with these changes.
pub fn changed(value: &Value, changes: &[Change]) -> Value {
    let mut value = value.clone();
    for (index, new) in changes {
        let mut places = Vec::new();
        all_places(&value, &mut String::new(), &mut places);
        let place = index.get(&places);
        match new {
            Some(new) => *value.pointer_mut(place).unwrap() = new.clone(),
            None => take_away(&mut value, place),
        }
    }
    value
}

fn take_away(value: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else {
        return;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.remove(&last);
        }
        Some(Value::Array(items)) => {
            items.remove(last.parse().unwrap());
        }
        _ => {}
    }
}

fn all_places(value: &Value, path: &mut String, found: &mut Vec<String>) {
    found.push(path.clone());
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (escaped(key), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let length = path.len();
        path.push('/');
        path.push_str(&key);
        all_places(child, path, found);
        path.truncate(length);
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
