//! Requests and limits, whose quantities people write as text or as numbers.

mod amount;

use k8s_openapi::api::core::v1::ResourceRequirements;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

pub use self::amount::amount;

/// A quantity, as Kubernetes' own resources have it in their schemas.
const PATTERN: &str = r"^[0-9]+(\.[0-9]+)?(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$";

/// Reads requests and limits; the numbers among the quantities become text, as Kubernetes does it.
///
/// # Errors
/// Something else than requests and limits.
pub fn resources<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ResourceRequirements>, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    for list in ["requests", "limits"] {
        let quantities = value.get_mut(list).and_then(Value::as_object_mut);
        for quantity in quantities.into_iter().flat_map(|map| map.values_mut()) {
            if let Value::Number(number) = quantity {
                *quantity = Value::String(number.to_string());
            }
        }
    }
    serde_json::from_value(value).map_err(de::Error::custom)
}

/// The schema of requests and limits.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    let quantities = json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": PATTERN,
        },
    });
    json_schema!({
        "type": "object",
        "properties": {"requests": quantities.clone(), "limits": quantities},
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    #[test]
    fn a_number_is_a_quantity() {
        let read = super::resources(serde_json::json!({"requests": {"cpu": 1, "memory": "16Mi"}}));
        let requests = read.unwrap().unwrap().requests.unwrap();
        assert_eq!(requests["cpu"], Quantity("1".to_owned()));
        assert_eq!(requests["memory"], Quantity("16Mi".to_owned()));
    }
}
