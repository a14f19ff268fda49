//! Any bytes as an AdmissionReview: no panic, no denial, a patch that fits its pod. Any JSON as a pod:
//! a patched pod needs no patch.
#![no_main]

use json_patch::Patch;
use k8s_openapi::ByteString;
use libfuzzer_sys::fuzz_target;
use proxyunwrap_operator::inject;
use proxyunwrap_operator::webhook::review::review;
use proxyunwrap_operator_fuzz::{POLICY, SETTINGS, WORLD};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let asked: Option<Value> = serde_json::from_slice(bytes).ok();
    if let (Ok(reviewed), Some(asked)) = (review(bytes, &WORLD, &SETTINGS), &asked) {
        let answer: Value = serde_json::from_slice(&reviewed.response).expect("we wrote it");
        assert_eq!(answer["response"]["allowed"], true);
        assert_eq!(answer["response"]["uid"], asked["request"]["uid"]);
        if let Some(patch) = answer["response"].get("patch") {
            let patch: ByteString = serde_json::from_value(patch.clone()).expect("base64");
            let patch: Patch = serde_json::from_slice(&patch.0).expect("a patch");
            apply(&asked["request"]["object"], &patch);
        }
    }
    // The pod alone, so that the fuzzer needs no review around it.
    if let Some(pod) = asked
        && let Ok(patch) = inject::patch(&pod, &POLICY, &SETTINGS)
    {
        let once = apply(&pod, &patch);
        let twice = inject::patch(&once, &POLICY, &SETTINGS).expect("it was patched before");
        assert!(twice.is_empty(), "{twice}");
    }
});

fn apply(pod: &Value, patch: &Patch) -> Value {
    let mut patched = pod.clone();
    json_patch::patch(&mut patched, patch).expect("it fits");
    patched
}
