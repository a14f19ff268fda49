//! Every series of the operator's `/metrics`. Labels are closed sets.

use std::time::Duration;

use proxyunwrap_api::status::PodCounts;

/// The operator's counters.
#[derive(Default)]
pub struct Metrics {}

/// A step of the controller's look at a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// World to what is to be done; pure, so it has a duration and never fails.
    Plan,
    /// Configuration of running pods.
    Configure,
    /// Labels of namespaces.
    Label,
    /// Restarts of workloads.
    Restart,
    /// Status of resources.
    Status,
}

/// What became of a change of a pod's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPatch {
    /// It is done.
    Changed,
    /// The pod is gone, or another one has its name.
    Gone,
    /// The API server refused or was not reached; it is tried again.
    Failed,
}

/// What became of a workload's restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It was asked for.
    Started,
    /// It is available again.
    Completed,
    /// The API server refused or was not reached.
    Failed,
}

impl Metrics {
    /// A step took so long.
    pub fn reconciled(&self, step: Step, took: Duration) {
        let _ = (step, took);
    }

    /// A step failed; it is tried again.
    pub fn reconcile_failed(&self, step: Step) {
        let _ = step;
    }

    /// Pods of all namespaces together; zero while we do not lead.
    pub fn set_pods(&self, counts: PodCounts) {
        let _ = counts;
    }

    /// A pod's configuration.
    pub fn pod_patched(&self, result: PodPatch) {
        let _ = result;
    }

    /// From a change to the last pod of a namespace with its new configuration.
    pub fn config_pushed(&self, took: Duration) {
        let _ = took;
    }

    /// A workload's restart.
    pub fn restarted(&self, result: Restart) {
        let _ = result;
    }
}

impl Step {
    /// Value of the label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Configure => "configure",
            Self::Label => "label",
            Self::Restart => "restart",
            Self::Status => "status",
        }
    }
}
