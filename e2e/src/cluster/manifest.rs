//! What is applied to the cluster: the files of `manifests/`, with values put in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// Objects to apply, in order.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// As Kubernetes' API takes them.
    pub(super) objects: Vec<Value>,
}

impl Manifest {
    /// Reads a file of `manifests/` and puts values in for `{{name}}`. A value is text or JSON,
    /// which YAML contains.
    ///
    /// # Errors
    /// No such file, no YAML, a name without a value or a value without a name.
    pub fn read(file: &str, values: &[(&str, &str)]) -> anyhow::Result<Self> {
        let path = folder().join(file);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text, values).with_context(|| file.to_owned())
    }

    /// The same, of text.
    ///
    /// # Errors
    /// No YAML, a name without a value or a value without a name.
    pub fn parse(text: &str, values: &[(&str, &str)]) -> anyhow::Result<Self> {
        let mut text = text.to_owned();
        for (name, value) in values {
            let place = format!("{{{{{name}}}}}");
            if !text.contains(&place) {
                bail!("there is no {place} to put a value in");
            }
            text = text.replace(&place, value);
        }
        if let Some((_, rest)) = text.split_once("{{") {
            let name = rest.split("}}").next().unwrap_or_default();
            bail!("there is no value for {{{{{name}}}}}");
        }
        let objects = serde_saphyr::from_multiple(&text).context("not YAML")?;
        Ok(Self { objects })
    }

    /// The same objects, every pod among them with an annotation more.
    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        for metadata in self.objects.iter_mut().filter_map(pod_metadata) {
            metadata["annotations"][key] = json!(value);
        }
        self
    }

    /// The same objects, and all that a person adds so that the apps in their pods see their clients
    /// at port 8080.
    pub fn unwrapped(self) -> Self {
        self.annotated("proxyunwrap.dev/ports", "8080")
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests")
}

/// Metadata of a pod, or of those that an object makes.
fn pod_metadata(object: &mut Value) -> Option<&mut Value> {
    let path = match object["kind"].as_str() {
        Some("Pod") => "/metadata",
        Some("DaemonSet" | "Deployment" | "Job" | "StatefulSet") => "/spec/template/metadata",
        _ => return None,
    };
    object.pointer_mut(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_their_names() {
        let text = "kind: Pod\nspec: {args: {{args}}}\n---\nkind: Service\n";
        let got = Manifest::parse(text, &[("args", r#"["a", "b"]"#)]).unwrap();
        let want = [
            json!({"kind": "Pod", "spec": {"args": ["a", "b"]}}),
            json!({"kind": "Service"}),
        ];
        assert_eq!(got.objects, want);
    }

    #[test]
    fn a_name_without_a_value_and_a_value_without_a_name_are_refused() {
        let error = Manifest::parse("kind: {{kind}}", &[]).unwrap_err();
        assert_eq!(error.to_string(), "there is no value for {{kind}}");
        let error = Manifest::parse("kind: Pod", &[("kind", "Pod")]).unwrap_err();
        assert_eq!(error.to_string(), "there is no {{kind}} to put a value in");
    }

    #[test]
    fn pods_and_templates_are_annotated_and_nothing_else() {
        let text = "kind: Job\nmetadata: {name: job}\nspec: {template: {metadata: {}}}\n---\n\
                    kind: Service\nmetadata: {name: app}\n";
        let got = Manifest::parse(text, &[]).unwrap().unwrapped();
        let want = json!({"annotations": {"proxyunwrap.dev/ports": "8080"}});
        assert_eq!(got.objects[0]["spec"]["template"]["metadata"], want);
        assert_eq!(got.objects[0]["metadata"], json!({"name": "job"}));
        assert_eq!(got.objects[1]["metadata"], json!({"name": "app"}));
    }
}
