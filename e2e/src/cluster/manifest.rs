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

    fn parse(text: &str, values: &[(&str, &str)]) -> anyhow::Result<Self> {
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

    /// The same objects, every pod among them with the dataplane in it as `sidecar.yaml` shows it,
    /// and its configuration.
    ///
    /// # Errors
    /// The files with the sidecar and its configuration cannot be read.
    pub fn with_sidecar(mut self) -> anyhow::Result<Self> {
        let sidecar = Self::read("sidecar.yaml", &[])?.objects;
        let [sidecar] = sidecar.as_slice() else {
            bail!("sidecar.yaml is not one document");
        };
        for spec in self.objects.iter_mut().filter_map(pod_spec) {
            for list in ["initContainers", "volumes"] {
                extend(&mut spec[list], &sidecar[list]);
            }
        }
        let mut objects = Self::read("config.yaml", &[])?.objects;
        objects.append(&mut self.objects);
        Ok(Self { objects })
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests")
}

/// Where an object says what its pods are made of.
fn pod_spec(object: &mut Value) -> Option<&mut Value> {
    let path = match object["kind"].as_str() {
        Some("Pod") => "/spec",
        Some("Deployment" | "Job") => "/spec/template/spec",
        _ => return None,
    };
    object.pointer_mut(path)
}

/// Ours come first: init containers run in order, and the app's own may want the network.
fn extend(list: &mut Value, first: &Value) {
    let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
    *list = json!([of(first), of(list)].concat());
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
    fn the_sidecar_comes_before_the_pods_own_init_containers() {
        let text = "kind: Job\nspec: {template: {spec: {initContainers: [{name: own}]}}}";
        let got = Manifest::parse(text, &[]).unwrap().with_sidecar().unwrap();
        let [config, job] = got.objects.as_slice() else {
            panic!("{got:?}");
        };
        assert_eq!(config["kind"], "ConfigMap");
        let containers = job.pointer("/spec/template/spec/initContainers").unwrap();
        let names: Vec<_> = containers
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(names, ["proxyunwrap-init", "proxyunwrap", "own"]);
    }
}
