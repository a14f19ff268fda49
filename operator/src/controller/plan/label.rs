//! The label by which the webhook is asked about every new pod of a namespace.

use kube::ResourceExt;
use proxyunwrap_api::names;

use super::Seen;
use crate::policy;

/// What is to be done with a namespace's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// It is needed and missing.
    Set,
    /// It is there and no longer needed.
    Remove,
}

/// What is to be done with a namespace's label; nothing where labels are left to people.
pub(super) fn plan(name: &str, seen: &Seen<'_>) -> Option<Label> {
    let namespace = seen.world.namespaces.get(name)?;
    if !seen.settings.controller.label_namespaces || namespace.metadata.deletion_timestamp.is_some()
    {
        return None;
    }
    let labels = namespace.labels();
    let is_set = labels.get(names::MANAGED).map(String::as_str) == Some("true");
    match (is_needed(name, seen), is_set) {
        (true, false) => Some(Label::Set),
        (false, true) => Some(Label::Remove),
        (true, true) | (false, false) => None,
    }
}

/// A resource that cannot be read needs the label, too: its pods would be missed, once it can.
fn is_needed(name: &str, seen: &Seen<'_>) -> bool {
    let unwraps = seen.world.unwraps.get(name);
    let mut services = seen.world.services.get(name).into_iter().flatten();
    let is_asked = unwraps.is_some_and(|unwraps| !unwraps.is_empty())
        || seen.unreadable.iter().any(|one| one.namespace == name)
        || services.any(|service| policy::is_annotated(service));
    is_asked && policy::served(name, seen.world, seen.settings)
}
