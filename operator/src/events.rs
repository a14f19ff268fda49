//! Kubernetes Events: told, never waited for.

use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::mpsc;

/// Something to tell the people who look at an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it is.
    pub kind: Kind,
    /// The object: kind, apiVersion, name, uid, namespace.
    pub regarding: ObjectReference,
    /// A sentence that names the fix; cut at 1,000 bytes.
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

/// Where notices go. Clones share it.
#[derive(Clone)]
pub struct Events {
    sender: mpsc::Sender<Notice>,
}

impl Events {
    /// The near and the far end; what nobody takes from the far end in time is dropped and counted.
    pub fn channel(places: usize) -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(places);
        (Self { sender }, receiver)
    }

    /// Tells, without waiting.
    pub fn tell(&self, notice: Notice) {
        let _ = self.sender.try_send(notice);
    }
}
