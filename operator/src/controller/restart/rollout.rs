//! A workload's rollout: whether one is under way, and beginning one as `kubectl rollout restart`
//! does, by an annotation of the pod template.

use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use proxyunwrap_api::names;
use proxyunwrap_api::target::TargetKind;
use serde_json::{Value, json};

use super::Job;
use crate::controller::apply::{Cause, answered};
use crate::controller::plan::workloads;

/// What came of a look at a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Its restart has begun.
    Restarted,
    /// All of its pods are of its template, and available.
    Available,
    /// They are not yet.
    RollingOut {
        /// Whether its template says that we restarted it, at some time.
        ours: bool,
    },
    /// A new template makes no new pods: it is paused, or its strategy is OnDelete.
    NotRestartable,
    /// It does not exist any more.
    Gone,
}

/// Why a workload could not be restarted or looked at.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not restart {workload} of namespace {namespace}; the operator needs the rights to get and patch it (controller.restarts of the chart)"
)]
pub struct Error {
    workload: String,
    namespace: String,
    source: Cause,
}

impl Job {
    /// Looks at the workload, and restarts it if that is asked for and nothing is under way.
    ///
    /// # Errors
    /// What the API server said.
    pub async fn run(&self, client: Client, now: Timestamp) -> Result<Came, Error> {
        self.look_and_restart(client, now)
            .await
            .or_else(|cause| match cause {
                Cause::Refused(status) if status.is_not_found() => Ok(Came::Gone),
                Cause::Refused(_) | Cause::Late | Cause::Unreached(_) => Err(Error {
                    workload: workloads::written(&self.workload),
                    namespace: self.namespace.clone(),
                    source: cause,
                }),
            })
    }

    async fn look_and_restart(&self, client: Client, now: Timestamp) -> Result<Came, Cause> {
        let kind = workloads::kind(self.workload.kind);
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(client, &self.namespace, &kind);
        let name = &self.workload.name;
        let found = answered(api.get(name)).await?;
        if found.metadata.uid.as_ref() != Some(&self.workload.uid) {
            return Ok(Came::Gone);
        }
        let came = look(self.workload.kind, found.metadata.generation, &found.data);
        match (came, &self.restart_for) {
            (Came::Available, Some(_)) => {}
            (came, _) => return Ok(came),
        }
        let body = json!({
            "metadata": {"uid": self.workload.uid},
            "spec": {"template": {"metadata": {"annotations": {
                names::answers::RESTARTED_AT: now.to_string(),
            }}}},
        });
        let ours = PatchParams::apply(names::FIELD_MANAGER);
        answered(api.patch(name, &ours, &Patch::Merge(body))).await?;
        Ok(Came::Restarted)
    }
}

/// What a workload is doing. Fields that are missing are zero, as the API leaves them out.
fn look(kind: TargetKind, generation: Option<i64>, workload: &Value) -> Came {
    let number = |path: &str| workload.pointer(path).and_then(Value::as_i64);
    let status = |field: &str| number(&format!("/status/{field}")).unwrap_or(0);
    let text = |path: &str| workload.pointer(path).and_then(Value::as_str);
    let is_paused = workload.pointer("/spec/paused") == Some(&Value::Bool(true));
    if is_paused || text("/spec/updateStrategy/type") == Some("OnDelete") {
        return Came::NotRestartable;
    }
    let replicas = number("/spec/replicas").unwrap_or(1);
    let is_done = match kind {
        TargetKind::DaemonSet => {
            let wanted = status("desiredNumberScheduled");
            [wanted, wanted] == [status("updatedNumberScheduled"), status("numberAvailable")]
        }
        TargetKind::StatefulSet => {
            let kept = number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
            let updated = (replicas - kept).max(0);
            status("updatedReplicas") >= updated && status("availableReplicas") == replicas
        }
        TargetKind::Deployment | TargetKind::Service => {
            [replicas; 3]
                == [
                    status("updatedReplicas"),
                    status("replicas"),
                    status("availableReplicas"),
                ]
        }
    };
    let is_seen = status("observedGeneration") >= generation.unwrap_or(0);
    if is_done & is_seen {
        return Came::Available;
    }
    let annotations = workload.pointer("/spec/template/metadata/annotations");
    let ours = annotations.and_then(|all| all.get(names::answers::RESTARTED_AT));
    Came::RollingOut {
        ours: ours.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: TargetKind, workload: &Value, want: Came) {
        assert_eq!(look(kind, Some(7), workload), want);
    }

    #[test]
    fn a_deployment_is_available_when_all_pods_are_new_and_no_old_one_is_left() {
        let status = |status: Value| json!({"spec": {"replicas": 2}, "status": status});
        let rolling = Came::RollingOut { ours: false };
        check(
            TargetKind::Deployment,
            &status(
                json!({"observedGeneration": 7, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
            ),
            Came::Available,
        );
        for partly in [
            json!({"observedGeneration": 6, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
            json!({"observedGeneration": 7, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}),
            json!({"observedGeneration": 7, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}),
            json!({"observedGeneration": 7, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}),
            json!({}),
        ] {
            check(TargetKind::Deployment, &status(partly), rolling);
        }
    }

    #[test]
    fn a_statefulset_with_a_partition_is_available_when_the_rest_is_new() {
        let spec = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
        let status = json!({"observedGeneration": 7, "updatedReplicas": 1, "availableReplicas": 3});
        let workload = json!({"spec": spec, "status": status});
        check(TargetKind::StatefulSet, &workload, Came::Available);
    }

    #[test]
    fn a_daemonset_counts_nodes() {
        let status = json!({"observedGeneration": 7, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3});
        check(
            TargetKind::DaemonSet,
            &json!({"status": status}),
            Came::Available,
        );
        let status = json!({"observedGeneration": 7, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3});
        check(
            TargetKind::DaemonSet,
            &json!({"status": status}),
            Came::RollingOut { ours: false },
        );
    }

    #[test]
    fn what_makes_no_new_pods_by_itself_is_not_restarted() {
        let paused = json!({"spec": {"paused": true}});
        check(TargetKind::Deployment, &paused, Came::NotRestartable);
        let by_hand = json!({"spec": {"updateStrategy": {"type": "OnDelete"}}});
        check(TargetKind::StatefulSet, &by_hand, Came::NotRestartable);
        check(TargetKind::DaemonSet, &by_hand, Came::NotRestartable);
    }

    #[test]
    fn a_rollout_that_an_earlier_leader_began_is_known_by_its_annotation() {
        let annotations = json!({names::answers::RESTARTED_AT: "2026-01-01T00:00:00Z"});
        let workload = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        check(
            TargetKind::Deployment,
            &workload,
            Came::RollingOut { ours: true },
        );
    }
}
