//! Fields of a Kubernetes that is yet to come: one in every object of a pod.

use serde_json::{Value, json};

/// Maps whose keys are a person's, not fields.
const MAPS: [&str; 7] = [
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
    "fieldsV1",
];

const FIELD: &str = "fieldOfTheFuture";

/// The same pod with such a field in each of its objects; each has another value.
pub fn added(pod: &Value) -> Value {
    let mut pod = pod.clone();
    add(&mut pod, &mut 0);
    pod
}

/// The same pod without them, and the values that they had.
pub fn removed(pod: &Value) -> (Value, Vec<u64>) {
    let mut pod = pod.clone();
    let mut values = Vec::new();
    remove(&mut pod, &mut values);
    values.sort_unstable();
    (pod, values)
}

/// Values of those within fields of this name.
pub fn within(pod: &Value, name: &str) -> Vec<u64> {
    match pod {
        Value::Object(map) => {
            let deeper = map.iter().flat_map(|(key, value)| match key == name {
                true => removed(value).1,
                false => within(value, name),
            });
            deeper.collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| within(item, name)).collect(),
        _ => Vec::new(),
    }
}

fn add(value: &mut Value, next: &mut u64) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if !MAPS.contains(&key.as_str()) {
                    add(value, next);
                }
            }
            map.insert(FIELD.to_owned(), json!(*next));
            *next += 1;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| add(item, next)),
        _ => {}
    }
}

fn remove(value: &mut Value, values: &mut Vec<u64>) {
    match value {
        Value::Object(map) => {
            values.extend(map.remove(FIELD).and_then(|value| value.as_u64()));
            map.values_mut().for_each(|value| remove(value, values));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, values)),
        _ => {}
    }
}

/// Values of those within our containers and our volume.
pub fn of_ours(pod: &Value) -> Vec<u64> {
    let lists = ["initContainers", "volumes"];
    let items = lists.iter().flat_map(|list| pod["spec"][list].as_array());
    let ours = items.flatten().filter(|item| {
        let name = item["name"].as_str().unwrap_or_default();
        name.starts_with("proxyunwrap")
    });
    ours.flat_map(|item| removed(item).1).collect()
}
