//! The custom resource's definition, as Kubernetes takes it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;

use crate::ProxyUnwrap;

/// The definition that the types generate.
pub fn crd() -> CustomResourceDefinition {
    let mut crd = ProxyUnwrap::crd();
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut();
        if let Some(root) = schema.and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            tidy(root);
        }
    }
    crd
}

/// What Rust's types say and Kubernetes takes otherwise: formats such as `uint16`, which it warns
/// about each time (bounds say the same), and null, which it would keep where it could leave out.
fn tidy(schema: &mut JSONSchemaProps) {
    let unsigned = |format: &String| format.starts_with("uint");
    schema.format = schema.format.take().filter(|format| !unsigned(format));
    schema.nullable = None;
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    for inner in schema
        .properties
        .iter_mut()
        .flat_map(|map| map.values_mut())
    {
        tidy(inner);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(inner)) => tidy(inner),
        Some(JSONSchemaPropsOrArray::Schemas(inner)) => inner.iter_mut().for_each(tidy),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_visible_at_the_top_and_at_each_field() {
        let crd = serde_json::to_value(crd()).unwrap();
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let spec = crd.pointer(spec).unwrap();
        assert_eq!(spec["header"]["default"]["timeout"], "5s");
        assert_eq!(spec["header"]["properties"]["timeout"]["default"], "5s");
    }

    #[test]
    fn nothing_is_left_that_the_api_server_takes_otherwise() {
        let text = serde_json::to_string(&crd()).unwrap();
        for one in ["\"uint", "nullable", "null"] {
            assert!(!text.contains(one), "{one}: {text}");
        }
    }
}
