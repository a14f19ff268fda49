//! The custom resource's definition, as Kubernetes takes it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use crate::ProxyUnwrap;

/// The definition that the types generate.
pub fn crd() -> CustomResourceDefinition {
    ProxyUnwrap::crd()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_structural_and_has_defaults() {
        let crd = serde_json::to_value(crd()).unwrap();
        let header = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
            ["properties"]["header"];
        assert_eq!(header["default"]["timeout"], "5s");
        assert_eq!(header["properties"]["timeout"]["default"], "5s");
    }
}
