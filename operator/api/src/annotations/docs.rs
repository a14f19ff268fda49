//! `docs/annotations.md`, out of the table.

use std::fmt::Write;

use serde_json::Value as Json;

use super::table::Section;
use super::{Annotation, On, SECTIONS};
use crate::spec::ProxyUnwrapSpec;

/// The page.
pub fn page() -> String {
    let defaults = serde_json::to_value(ProxyUnwrapSpec::default()).unwrap_or_default();
    let mut page = HEAD.to_owned();
    for section in SECTIONS {
        write_section(&mut page, section, &defaults);
    }
    page.push_str(TAIL);
    page
}

const HEAD: &str = r#"# Annotations

<!-- Made from operator/api/src/annotations/table.rs: UPDATE=1 cargo test -p proxyunwrap-api --lib -->

A pod or a Service with an annotation needs no `ProxyUnwrap` resource:

```yaml
kind: Deployment
spec:
  template:
    metadata:
      annotations:
        proxyunwrap.dev/inject: "true"         # on the pod template, not on the Deployment itself
```

```yaml
kind: Service
metadata:
  annotations:
    proxyunwrap.dev/ports: http,https          # the Service's ports; the pods that it selects
    proxyunwrap.dev/trusted-peers: 10.0.0.0/8, nodes
```

Each key sets a field of the resource, so on a pod that a resource or a Service governs it changes that field for the
pod alone. A port of the resource with a setting of its own keeps it. Who governs a pod, the first that there is:

1. the `ProxyUnwrap` that the pod names by `proxyunwrap.dev/unwrap`;
2. the oldest `ProxyUnwrap` of its namespace that selects or targets it;
3. the oldest Service of its namespace with `inject` or `ports` that selects it;
4. the pod's own `inject: "true"` or `ports`.

Values are strings: write `"true"` and `"8080"` with quotes. Items of a list stand between commas. Upper and lower case
of words are the same. A key that is not known and a value that is not allowed are refused with a sentence that says
what is: the pod is made as it is, with a warning and an Event, or refused, as the operator is installed.

An annotation that changes is followed as a resource is: what the sidecar reads as configuration within seconds, what
is in the pod itself (`ports`, `drain-wait`, and the last table) by new pods.
"#;

const TAIL: &str = r#"
## What the operator answers

These are no wishes; what is written there by others is overwritten or passed over.

| key, after `proxyunwrap.dev/` | on | meaning |
|---|---|---|
| `status` | pod | what was injected, as JSON: version, policy, hash, ports |
| `config` | pod | the sidecar's configuration, which it reads as a file |
| `refused` | pod | why it was not injected: `Reason: sentence` |
| `restarted-at` | pod template | when the operator restarted the workload |
"#;

fn write_section(page: &mut String, section: &Section, defaults: &Json) {
    let head = "| key, after `proxyunwrap.dev/` | value | default | field of the resource | meaning |\n|---|---|---|---|---|";
    let _ = writeln!(page, "\n## {}\n\n{head}", section.title);
    for row in section.rows {
        let field = match row.field {
            "" => "–".to_owned(),
            field => format!("`{field}`"),
        };
        let on = match row.on {
            On::Pod => " Only on a pod.",
            On::PodOrService => "",
        };
        let default = default(row, defaults);
        let (key, value, meaning) = (row.key, row.value, row.meaning);
        let _ = writeln!(
            page,
            "| `{key}` | {value} | {default} | {field} | {meaning}{on} |"
        );
    }
}

/// As an annotation would say it.
fn default(row: &Annotation, defaults: &Json) -> String {
    let mut steps = row.field.split('.');
    let found = steps.try_fold(defaults, |at, step| at.get(step));
    match found {
        None | Some(Json::Null | Json::Object(_)) => "–".to_owned(),
        Some(Json::String(text)) => format!("`{text}`"),
        Some(Json::Array(items)) if items.is_empty() => "–".to_owned(),
        Some(Json::Array(items)) => {
            let items: Vec<_> = items.iter().filter_map(Json::as_str).collect();
            format!("`{}`", items.join(","))
        }
        Some(plain @ (Json::Bool(_) | Json::Number(_))) => format!("`{plain}`"),
    }
}
