//! The init container: prepares the pod's network once, and ends.

use proxyunwrap_api::names::INIT_CONTAINER;
use proxyunwrap_api::spec::{SourceMode, Steering};
use serde_json::{Value, json};

use super::{Injection, volume};

/// The container. Root, because a capability that is added reaches root only.
pub(super) fn container(injection: &Injection, resources: &Value) -> Value {
    let args = [
        "init",
        "--config",
        &volume::path(),
        "--steer",
        steer(injection.steering),
        "--source-mode",
        source_mode(injection.source_mode),
    ];
    json!({
        "name": INIT_CONTAINER,
        "image": injection.image,
        "args": args,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "runAsNonRoot": false,
            "privileged": false,
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"], "add": ["NET_ADMIN"] },
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "resources": resources,
        "volumeMounts": [volume::mount()],
    })
}

/// As `init --steer` reads it.
fn steer(steering: Steering) -> &'static str {
    match steering {
        Steering::Auto => "auto",
        Steering::Netdev => "netdev",
        Steering::Inet => "inet",
    }
}

/// As `init --source-mode` reads it.
fn source_mode(mode: SourceMode) -> &'static str {
    match mode {
        SourceMode::Routed => "routed",
        SourceMode::Transparent => "transparent",
    }
}
