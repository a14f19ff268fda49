//! Promises that hold while nobody disturbs the operator: two tests at a time, each in a namespace of
//! its own. One file is one promise; they are one program because that runs and links fastest.

mod annotated_service;
mod app_sees_the_client_address;
mod autoscaler_works;
mod bad_resources_are_refused;
mod balancers_are_followed;
mod deletion_cuts_no_request;
mod exported_pods;
mod failure_report;
mod job_with_sidecar_completes;
mod one_annotation_is_enough;
mod ordinary_traffic_is_untouched;
mod peers_are_followed;
mod probes_reach_the_app;
mod refusals_are_told;
mod resource_by_selector;
mod resource_by_target;
mod restart_recovers;
mod sidecar_has_no_privilege;
mod status_tells_the_truth;
