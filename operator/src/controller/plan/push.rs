//! The configuration that a running pod should have.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use proxyunwrap_api::names;
use serde_json::Value;

/// A new configuration for a running pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The pod's name.
    pub pod: String,
    /// Its uid: another pod of this name is left alone.
    pub uid: String,
    /// All of the configuration.
    pub config: String,
    /// Whether other peers are trusted now: these go first.
    pub urgent: bool,
}

/// Compares configurations, and remembers: many pods have the same.
#[derive(Default)]
pub(super) struct Pushes<'a> {
    urgent: RefCell<HashMap<(&'a str, Rc<str>), bool>>,
}

impl<'a> Pushes<'a> {
    /// What is to be written to a pod; nothing if it has its configuration.
    pub(super) fn plan(&self, pod: &'a Pod, config: &Rc<str>) -> Option<Push> {
        let present = pod.annotations().get(names::answers::CONFIG);
        let present = present.map(String::as_str);
        if present == Some(&**config) {
            return None;
        }
        Some(Push {
            pod: pod.name_any(),
            uid: pod.uid().unwrap_or_default(),
            config: config.to_string(),
            urgent: present.is_none_or(|present| self.is_urgent(present, config)),
        })
    }

    fn is_urgent(&self, present: &'a str, config: &Rc<str>) -> bool {
        let mut known = self.urgent.borrow_mut();
        let known = known.entry((present, Rc::clone(config)));
        *known.or_insert_with(|| peers(present) != peers(config))
    }
}

/// Whom each port trusts, as written; nothing of a text that cannot be read.
fn peers(config: &str) -> Vec<Value> {
    let config: Value = serde_saphyr::from_str(config).unwrap_or_default();
    let ports = config.get("ports").and_then(Value::as_array);
    let ports = ports.into_iter().flatten();
    ports
        .filter_map(|port| port.get("peers").cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(config: &str) -> Pod {
        let mut pod = Pod::default();
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(names::answers::CONFIG.to_owned(), config.to_owned());
        pod
    }

    #[track_caller]
    fn check(present: &str, config: &str, urgent: Option<bool>) {
        let pod = pod(present);
        let push = Pushes::default().plan(&pod, &Rc::from(config));
        assert_eq!(push.map(|push| push.urgent), urgent);
    }

    #[test]
    fn another_list_of_peers_is_urgent_and_nothing_else_is() {
        let text = |peers: &str, rest: &str| {
            format!("ports:\n- peers: {{require: [{peers}]}}\nlimits: {{connections: {rest}}}\n")
        };
        let (old, new) = (text("10.0.0.9/32", "1"), text("10.0.0.8/32", "1"));
        check(&old, &old, None);
        check(&old, &new, Some(true));
        check(&old, &text("10.0.0.9/32", "2"), Some(false));
        check("{", &old, Some(true));
    }
}
