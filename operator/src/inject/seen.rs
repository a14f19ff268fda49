//! A pod as the watches keep it, made from the pod as it came over the wire.
//!
//! The rest of a pod may be of a later Kubernetes than our types: it is not read at all.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value};

use crate::refusal::{Reason, Refusal};

/// What decides, beside the containers.
const OF_SPEC: [&str; 4] = ["nodeName", "hostNetwork", "os", "nodeSelector"];

/// What decides of a container.
const OF_CONTAINER: [&str; 4] = ["name", "image", "ports", "restartPolicy"];

/// What decides about a pod.
///
/// # Errors
/// If that much of it is no pod.
pub fn seen(pod: &Value) -> Result<Pod, Refusal> {
    let spec = pod.get("spec").and_then(Value::as_object);
    let spec = spec.ok_or_else(|| invalid("it has no spec"))?;
    let mut kept = some(spec, &OF_SPEC);
    for list in ["containers", "initContainers"] {
        if let Some(containers) = spec.get(list) {
            kept.insert(list.to_owned(), trimmed(containers));
        }
    }
    let mut metadata = pod.get("metadata").cloned().unwrap_or_default();
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("managedFields");
    }
    let kept = serde_json::json!({ "metadata": metadata, "spec": kept });
    serde_json::from_value(kept).map_err(|error| invalid(&error.to_string()))
}

/// A refusal that blames the pod.
pub(super) fn invalid(why: &str) -> Refusal {
    Refusal::new(
        Reason::InvalidPod,
        format!("the pod cannot be read: {why}; is it of a later Kubernetes than this operator?"),
    )
}

fn trimmed(containers: &Value) -> Value {
    match containers {
        Value::Array(all) => all.iter().map(one).collect(),
        other => other.clone(),
    }
}

fn one(container: &Value) -> Value {
    match container {
        Value::Object(container) => Value::Object(some(container, &OF_CONTAINER)),
        other => other.clone(),
    }
}

fn some(from: &Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    let kept = |(key, _): &(&String, &Value)| keys.contains(&key.as_str());
    let rows = from.iter().filter(kept);
    rows.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
