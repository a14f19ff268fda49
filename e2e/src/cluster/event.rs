//! Events: what the cluster, and the operator, tell people about an object.

use std::time::Duration;

use anyhow::bail;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;

use super::Namespace;
use super::wait::until;

/// Waits for an Event about an object and answers its message.
///
/// # Errors
/// There is none within ten seconds; the error has those that there are.
pub async fn about(
    space: &Namespace,
    kind: &str,
    name: &str,
    reason: &str,
) -> anyhow::Result<String> {
    let what = format!("there is an Event {reason} about {kind} {name}");
    until(&what, Duration::from_secs(10), async || {
        let events = in_order(space).await?;
        let found = events.iter().find(|event| {
            let object = &event.involved_object;
            object.kind.as_deref() == Some(kind)
                && object.name.as_deref() == Some(name)
                && event.reason.as_deref() == Some(reason)
        });
        match found {
            Some(event) => Ok(event.message.clone().unwrap_or_default()),
            None => bail!("{:#?}", events.iter().map(describe).collect::<Vec<_>>()),
        }
    })
    .await
}

/// In the order in which they happened.
pub(super) async fn in_order(space: &Namespace) -> anyhow::Result<Vec<Event>> {
    let listed = space.api::<Event>().list(&ListParams::default()).await?;
    let mut events = listed.items;
    events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
    Ok(events)
}

/// An Event in one line.
pub(super) fn describe(event: &Event) -> String {
    let object = &event.involved_object;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let (kind, name, part) = (
        text(&object.kind),
        text(&object.name),
        text(&object.field_path),
    );
    let (reason, message) = (text(&event.reason), text(&event.message));
    format!("{kind} {name} {part} {reason}: {}", message.trim_end())
}
