//! The volume with the configuration: an annotation of the pod, as a file.
//!
//! The kubelet writes a changed annotation into the file of a running container, but not into a
//! `subPath` mount: the folder is mounted as a whole.

use proxyunwrap_api::names::{CONFIG_FILE, CONFIG_FOLDER, VOLUME, answers};
use serde_json::{Value, json};

use super::Before;
use super::edit::{Edit, at};
use crate::refusal::{Reason, Refusal};

/// Puts the volume where it is missing, or of an earlier state.
pub(super) fn put(edit: &mut Edit, before: Before) -> Result<(), Refusal> {
    let volumes = at(["spec", "volumes"]);
    match (edit.named(&volumes, VOLUME), before) {
        (None, _) => edit.insert(&volumes, edit.items(&volumes).len(), volume()),
        (Some(_), Before::Current) => Ok(()),
        (Some(index), Before::Outdated) => edit.put(volumes.with_trailing_token(index), volume()),
        (Some(_), Before::Untouched) => Err(Refusal::new(
            Reason::AlreadyInjected,
            format!("the pod has a volume of its own by the name of {VOLUME}; give it another"),
        )),
    }
}

/// How a container sees it.
pub(super) fn mount() -> Value {
    json!({ "name": VOLUME, "mountPath": CONFIG_FOLDER, "readOnly": true })
}

/// The file's path in a container.
pub(super) fn path() -> String {
    format!("{CONFIG_FOLDER}/{CONFIG_FILE}")
}

fn volume() -> Value {
    let field = format!("metadata.annotations['{}']", answers::CONFIG);
    json!({
        "name": VOLUME,
        "downwardAPI": { "items": [{ "path": CONFIG_FILE, "fieldRef": { "fieldPath": field } }] },
    })
}
