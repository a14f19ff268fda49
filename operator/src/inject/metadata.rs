//! Label and annotations of an injected pod.

use proxyunwrap_api::names::{INJECTED, answers};
use serde_json::{Value, json};

use super::Status;
use super::edit::{Edit, at};
use crate::refusal::{Reason, Refusal};

/// What `kubectl exec` and `kubectl logs` take unless told otherwise: the app, not us.
const DEFAULTS: [&str; 2] = [
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/default-logs-container",
];

/// Bytes of an object's annotations, keys included, that Kubernetes takes.
const MOST: usize = 256 * 1024;

/// Puts them where they are missing or of an earlier state.
pub(super) fn put(edit: &mut Edit, status: &Status, config: &str) -> Result<(), Refusal> {
    let text = serde_json::to_string(status).expect("a status has string keys only");
    annotate(edit, answers::STATUS, &text)?;
    annotate(edit, answers::CONFIG, config)?;
    edit.put_in(&at(["metadata", "labels"]), INJECTED, json!("true"))?;
    let annotations = at(["metadata", "annotations"]);
    edit.remove(annotations.with_trailing_token(answers::REFUSED))?;
    let app = edit.items(&at(["spec", "containers"])).first();
    let app = app.and_then(|container| container["name"].as_str());
    if let Some(app) = app.map(str::to_owned) {
        for key in DEFAULTS {
            if edit.get(&annotations.with_trailing_token(key)).is_none() {
                annotate(edit, key, &app)?;
            }
        }
    }
    check_size(edit.get(&annotations))
}

/// Sets an annotation.
pub(super) fn annotate(edit: &mut Edit, key: &str, text: &str) -> Result<(), Refusal> {
    if edit.get(&at(["metadata"])).is_none() {
        edit.put(at(["metadata"]), json!({}))?;
    }
    edit.put_in(&at(["metadata", "annotations"]), key, text.into())
}

fn check_size(annotations: Option<&Value>) -> Result<(), Refusal> {
    let all = annotations.and_then(Value::as_object);
    let sizes = all.into_iter().flatten();
    let size: usize = sizes
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    match size <= MOST {
        true => Ok(()),
        false => Err(Refusal::new(
            Reason::InvalidPolicy,
            format!(
                "the pod's annotations would be {size} bytes with the configuration, and Kubernetes \
                 takes {MOST}; trust fewer, larger networks"
            ),
        )),
    }
}
