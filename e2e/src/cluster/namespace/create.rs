//! Creates an object as kubectl does, where the API server's words matter.

use anyhow::bail;
use kube::Resource;
use kube::api::{DynamicObject, PostParams, Request, TypeMeta};
use kube::client::Body;
use serde_json::Value;

use super::{MANAGER, Namespace, resource};

/// What became of an object that was created.
pub struct Created {
    /// As the API server made it.
    pub object: Value,
    /// As they came over the wire: `299 - "sentence"`.
    pub warnings: Vec<String>,
}

impl Namespace {
    /// Creates an object as `kubectl create` does; the answer has what was made, and what the API
    /// server warned of. With `dry_run` everything is checked and nothing is kept.
    ///
    /// # Errors
    /// The API server refuses, or does not answer.
    pub async fn create_object(&self, object: &Value, dry_run: bool) -> anyhow::Result<Created> {
        let types: TypeMeta = serde_json::from_value(object.clone())?;
        let url = DynamicObject::url_path(&resource(&types)?, Some(&self.name));
        let how = PostParams {
            dry_run,
            field_manager: Some(MANAGER.to_owned()),
        };
        let mut request = Request::new(url).create(&how, serde_json::to_vec(object)?)?;
        // kubectl's own choice: a field that is not known is an error.
        *request.uri_mut() = format!("{}&fieldValidation=Strict", request.uri()).parse()?;
        let answer = self.client.send(request.map(Body::from)).await?;
        let warnings = answer.headers().get_all("warning").iter();
        let warnings = warnings.filter_map(|value| value.to_str().ok().map(str::to_owned));
        let warnings = warnings.collect();
        let accepted = answer.status().is_success();
        let answer: Value = serde_json::from_slice(&answer.into_body().collect_bytes().await?)?;
        match accepted {
            true => Ok(Created {
                object: answer,
                warnings,
            }),
            false => bail!("{}", answer["message"].as_str().unwrap_or_default()),
        }
    }
}
