//! AdmissionReview v1 on the wire: as much of it as matters.

use json_patch::Patch;
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Status code of a denial: a person may do something about it, trying again does not help.
const FORBIDDEN: u16 = 403;

/// Bytes that are no AdmissionReview.
#[derive(Debug, thiserror::Error)]
#[error("not an AdmissionReview of {API_VERSION}")]
pub struct Unreadable(#[source] serde_json::Error);

/// What is asked.
pub(super) struct Asked {
    pub(super) uid: String,
    pub(super) namespace: String,
    pub(super) dry_run: bool,
    /// The pod that is to be made; None if the review is about something else.
    pub(super) pod: Option<Value>,
}

/// What is answered.
pub(super) struct Answer {
    allowed: bool,
    patch: Option<Patch>,
    warnings: Vec<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    resource: Resource,
    operation: String,
    namespace: Option<String>,
    sub_resource: Option<String>,
    dry_run: Option<bool>,
    #[serde(default)]
    object: Value,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    group: String,
    resource: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    api_version: &'a str,
    kind: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
struct Status {
    code: u16,
    reason: &'static str,
    message: String,
}

/// Reads a review.
pub(super) fn read(body: &[u8]) -> Result<Asked, Unreadable> {
    let review: Review = serde_json::from_slice(body).map_err(Unreadable)?;
    for (found, wanted) in [(&review.api_version, API_VERSION), (&review.kind, KIND)] {
        if found != wanted {
            let message = format!("{found:?} instead of {wanted}");
            return Err(Unreadable(serde::de::Error::custom(message)));
        }
    }
    let request = review.request;
    let is_pod = request.resource.group.is_empty() && request.resource.resource == "pods";
    let whole = request.sub_resource.is_none_or(|part| part.is_empty());
    let made = request.operation == "CREATE" && is_pod && whole;
    Ok(Asked {
        uid: request.uid,
        namespace: request.namespace.unwrap_or_default(),
        dry_run: request.dry_run.unwrap_or_default(),
        pod: made.then_some(request.object),
    })
}

impl Answer {
    /// The pod is made as it is.
    pub(super) fn allowed() -> Self {
        Self::patched(Patch(Vec::new()))
    }

    /// The pod is made with these changes.
    pub(super) fn patched(patch: Patch) -> Self {
        Self {
            allowed: true,
            patch: Some(patch).filter(|patch| !patch.is_empty()),
            warnings: Vec::new(),
            status: None,
        }
    }

    /// The pod is made with these changes, and whoever makes it is told.
    pub(super) fn warned(patch: Patch, sentence: String) -> Self {
        Self {
            warnings: vec![sentence],
            ..Self::patched(patch)
        }
    }

    /// The pod is not made.
    pub(super) fn denied(sentence: String) -> Self {
        let status = Status {
            code: FORBIDDEN,
            reason: "Forbidden",
            message: sentence,
        };
        Self {
            allowed: false,
            status: Some(status),
            ..Self::allowed()
        }
    }

    /// The answer's bytes.
    pub(super) fn written(self, uid: &str) -> Vec<u8> {
        let patch = self.patch.map(|patch| {
            ByteString(serde_json::to_vec(&patch).expect("operations have string keys only"))
        });
        let answered = Answered {
            api_version: API_VERSION,
            kind: KIND,
            response: Response {
                uid,
                allowed: self.allowed,
                patch_type: patch.as_ref().map(|_| "JSONPatch"),
                patch,
                warnings: self.warnings,
                status: self.status,
            },
        };
        serde_json::to_vec(&answered).expect("an answer has string keys only")
    }
}
