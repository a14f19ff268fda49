//! Kubernetes Events: told, never waited for.
//!
//! The webhook's answer and the controller's work do not depend on them, so they go through a
//! bounded channel: what finds no place is dropped and counted. The same sentence about the same
//! object is told once in a while only, and never more than a few Events in a second.

mod throttle;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::metrics::{Metrics, Telling};
use throttle::{Throttle, Verdict};

/// Notices that wait to be told.
const PLACES: usize = 256;

/// Longest sentence that the API server takes, in bytes.
const LONGEST: usize = 1024;

/// An API server that needs longer has other worries.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something to tell the people who look at an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it is.
    pub kind: Kind,
    /// The object: apiVersion, kind, namespace, name, uid.
    pub regarding: ObjectReference,
    /// A sentence that names the fix; cut at 1 KiB.
    pub message: String,
}

/// What Events there are: a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A pod was meant and could not be injected.
    InjectionRefused,
    /// A pod was meant, and its annotation or namespace says no.
    InjectionSkipped,
    /// An older resource has the pods.
    PolicyConflict,
    /// Pods need to be made anew.
    OutdatedPods,
    /// A workload was restarted.
    RestartTriggered,
    /// The webhook's certificate was made anew.
    WebhookCertificateRotated,
}

impl Kind {
    /// The Event's reason.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::InjectionRefused => "InjectionRefused",
            Self::InjectionSkipped => "InjectionSkipped",
            Self::PolicyConflict => "PolicyConflict",
            Self::OutdatedPods => "OutdatedPods",
            Self::RestartTriggered => "RestartTriggered",
            Self::WebhookCertificateRotated => "WebhookCertificateRotated",
        }
    }

    const fn action(self) -> &'static str {
        match self {
            Self::InjectionRefused | Self::InjectionSkipped => "Inject",
            Self::PolicyConflict | Self::OutdatedPods => "Reconcile",
            Self::RestartTriggered => "Restart",
            Self::WebhookCertificateRotated => "Rotate",
        }
    }

    const fn severity(self) -> EventType {
        match self {
            Self::InjectionRefused | Self::PolicyConflict | Self::OutdatedPods => {
                EventType::Warning
            }
            Self::InjectionSkipped | Self::RestartTriggered | Self::WebhookCertificateRotated => {
                EventType::Normal
            }
        }
    }
}

/// Where notices go. Clones share it.
#[derive(Clone)]
pub struct Events {
    sender: mpsc::Sender<Notice>,
    metrics: Arc<Metrics>,
}

impl Events {
    /// The near and the far end; what nobody takes from the far end in time is dropped and counted.
    pub fn channel(metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(PLACES);
        (Self { sender, metrics }, receiver)
    }

    /// Tells, without waiting.
    pub fn tell(&self, notice: Notice) {
        if self.sender.try_send(notice).is_err() {
            self.metrics.told(Telling::Dropped);
        }
    }
}

/// Sends what is told to the API server, until every near end is gone.
pub async fn send(
    mut notices: mpsc::Receiver<Notice>,
    client: Client,
    pod: String,
    metrics: Arc<Metrics>,
) {
    let mut throttle = Throttle::default();
    while let Some(notice) = notices.recv().await {
        match throttle.ask(&notice, Instant::now()) {
            Verdict::Tell => metrics.told(send_one(&notice, &client, &pod).await),
            Verdict::Repeated => metrics.told(Telling::Repeated),
            Verdict::TooMany => metrics.told(Telling::Dropped),
        }
    }
}

/// A recorder of its own for each: kube's keeps the first sentence of a reason for ever, and
/// counts later ones under it.
async fn send_one(notice: &Notice, client: &Client, pod: &str) -> Telling {
    let reporter = Reporter {
        controller: "proxyunwrap-operator".to_owned(),
        instance: Some(pod.to_owned()),
    };
    let event = Event {
        type_: notice.kind.severity(),
        reason: notice.kind.reason().to_owned(),
        note: Some(cut(&notice.message)),
        action: notice.kind.action().to_owned(),
        secondary: None,
    };
    let recorder = Recorder::new(client.clone(), reporter);
    let sent = timeout(PATIENCE, recorder.publish(&event, &notice.regarding)).await;
    let error = match sent {
        Ok(Ok(())) => return Telling::Sent,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    let object = notice.regarding.name.as_deref().unwrap_or_default();
    tracing::warn!(reason = notice.kind.reason(), object, %error, "event not told");
    Telling::Failed
}

fn cut(message: &str) -> String {
    let mut end = message.len().min(LONGEST);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice() -> Notice {
        Notice {
            kind: Kind::InjectionRefused,
            regarding: ObjectReference::default(),
            message: "HostNetwork: it shares the node's network".to_owned(),
        }
    }

    #[test]
    fn telling_never_waits_and_what_finds_no_place_is_counted() {
        let metrics = Arc::new(Metrics::default());
        let (events, _receiver) = Events::channel(Arc::clone(&metrics));
        for _ in 0..PLACES + 3 {
            events.tell(notice());
        }
        let text = metrics.text();
        assert!(text.contains("proxyunwrap_operator_events_total{result=\"dropped\"} 3"));
    }

    #[test]
    fn a_long_sentence_is_cut_between_letters() {
        let long = cut(&"ä".repeat(LONGEST));
        assert_eq!(long.len(), LONGEST);
        let odd = cut(&format!("a{}", "ä".repeat(LONGEST)));
        assert_eq!(odd.len(), LONGEST - 1);
    }
}
