//! AdmissionReviews: what is answered, whatever comes.

mod support;

use k8s_openapi::ByteString;
use proptest::prelude::*;
use proxyunwrap_operator::inject;
use proxyunwrap_operator::refusal::Reason;
use proxyunwrap_operator::webhook::review::{Outcome, Reviewed, review};
use serde_json::{Value, json};
use support::any;
use support::case::{self, Case, NAMESPACE};

fn asking(pod: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": { "group": "", "version": "v1", "kind": "Pod" },
            "resource": { "group": "", "version": "v1", "resource": "pods" },
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": { "username": "system:serviceaccount:kube-system:replicaset-controller" },
            "object": pod,
            "oldObject": null,
            "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        },
    })
}

fn reviewed(case: &Case, asked: &Value) -> Reviewed {
    review(asked.to_string().as_bytes(), &case.world, &case.settings).expect("it is a review")
}

/// The answer's `response`.
fn response(reviewed: &Reviewed) -> Value {
    let answer: Value = serde_json::from_slice(&reviewed.response).expect("an answer is JSON");
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["kind"], "AdmissionReview");
    answer["response"].clone()
}

/// The object with the response's patch.
fn patched(response: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(patch) = response.get("patch") {
        assert_eq!(response["patchType"], "JSONPatch");
        let patch: ByteString = serde_json::from_value(patch.clone()).expect("base64");
        let patch: json_patch::Patch = serde_json::from_slice(&patch.0).expect("a patch");
        json_patch::patch(&mut object, &patch).expect("the patch fits");
    }
    object
}

#[test]
fn bytes_that_are_no_review_are_told_apart() {
    let case = case::named("ports-by-name");
    let mut old = asking(&case.pod);
    old["apiVersion"] = json!("admission.k8s.io/v1beta1");
    let mut nothing = asking(&case.pod);
    nothing["request"].as_object_mut().unwrap().remove("uid");
    let deep = "[".repeat(100_000);
    for bytes in [
        "",
        "{}",
        "null",
        "\u{0}",
        &deep,
        &old.to_string(),
        &nothing.to_string(),
    ] {
        let answer = review(bytes.as_bytes(), &case.world, &case.settings);
        assert!(answer.is_err(), "{bytes:.40}");
    }
}

#[test]
fn what_is_no_new_pod_is_let_through() {
    let case = case::named("ports-by-name");
    for (field, value) in [
        ("/request/operation", "UPDATE"),
        ("/request/resource/resource", "services"),
        ("/request/resource/group", "apps"),
        ("/request/subResource", "ephemeralcontainers"),
    ] {
        let mut asked = asking(&case.pod);
        asked["request"]["subResource"] = Value::Null;
        *asked.pointer_mut(field).unwrap() = json!(value);
        let answer = reviewed(case, &asked);
        let want = json!({ "uid": asked["request"]["uid"], "allowed": true });
        assert_eq!(response(&answer), want, "{field}");
        assert_eq!(answer.report.outcome, Outcome::Unchanged, "{field}");
    }
}

#[test]
fn a_pod_that_cannot_be_read_is_made_and_says_why() {
    let case = case::named("shape-containers-are-no-list");
    let asked = asking(&case.pod);
    let answer = reviewed(case, &asked);
    assert_eq!(answer.report.outcome, Outcome::Refused);
    assert_eq!(answer.report.reason, Some(Reason::InvalidPod));
    let response = response(&answer);
    assert_eq!(response["allowed"], true);
    let pod = patched(&response, &case.pod);
    let said = pod["metadata"]["annotations"]["proxyunwrap.dev/refused"]
        .as_str()
        .unwrap();
    assert_eq!(
        response["warnings"],
        json!([format!("proxyunwrap: {said}")])
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let case = case::named("ports-by-name");
        let _ = review(&bytes, &case.world, &case.settings);
    }

    #[test]
    fn no_review_panics_and_none_denies(
        index: prop::sample::Index,
        changes in any::changes(),
    ) {
        let case = index.get(case::all());
        let asked = any::changed(&asking(&case.pod), &changes);
        if let Ok(answer) = review(asked.to_string().as_bytes(), &case.world, &case.settings) {
            let response = response(&answer);
            prop_assert_eq!(&response["allowed"], &json!(true));
            prop_assert_eq!(&response["uid"], &asked["request"]["uid"]);
            patched(&response, &asked["request"]["object"]);
        }
    }

    #[test]
    fn no_pod_panics_and_a_patched_one_needs_no_patch(
        index: prop::sample::Index,
        changes in any::changes(),
    ) {
        let case = index.get(case::all());
        let pod = any::changed(&case.pod, &changes);
        if let Ok(once) = case.patched(&pod) {
            let twice = inject::patch(&once, &case.policy(), &case.settings).unwrap();
            prop_assert!(twice.is_empty(), "{}", twice);
        }
    }
}
