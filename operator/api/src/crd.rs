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

    #[test]
    fn probes_are_rewritten_unless_a_person_says_no() {
        let said_nothing: crate::ProxyUnwrapSpec =
            serde_json::from_str(r#"{"dataplane": {}}"#).unwrap();
        assert!(said_nothing.dataplane.rewrite_probes);
        assert_eq!(said_nothing, crate::ProxyUnwrapSpec::default());
        let crd = serde_json::to_value(crd()).unwrap();
        let dataplane = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
            ["properties"]["dataplane"];
        assert_eq!(dataplane["properties"]["rewriteProbes"]["default"], true);
        assert_eq!(dataplane["default"]["rewriteProbes"], true);
    }
}
