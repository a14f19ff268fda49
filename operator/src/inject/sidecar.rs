//! The sidecar: takes the peers' connections, as long as the app runs.

use proxyunwrap_api::names::{ADMIN_PORT, ADMIN_PORT_NAME, PROBES, SIDECAR, USER};
use proxyunwrap_api::spec::{LogLevel, SourceMode};
use serde_json::{Value, json};

use super::probes::Probes;
use super::{Injection, volume};

/// The container. `ends_by_itself` is a pod whose containers are not restarted, as a Job's.
pub(super) fn container(
    injection: &Injection,
    resources: &Value,
    probes: &Probes,
    ends_by_itself: bool,
) -> Value {
    let mut container = json!({
        "name": SIDECAR,
        "image": injection.image,
        "args": ["serve", "--config", volume::path()],
        "restartPolicy": "Always",
        "env": [{ "name": "PROXYUNWRAP_LOG", "value": log(injection.log_level) }],
        "ports": [{ "name": ADMIN_PORT_NAME, "containerPort": ADMIN_PORT, "protocol": "TCP" }],
        "startupProbe": { "httpGet": ready(), "periodSeconds": 1, "failureThreshold": 60 },
        "readinessProbe": { "httpGet": ready(), "periodSeconds": 1 },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security(injection.source_mode),
        "resources": resources,
        "volumeMounts": [volume::mount()],
    });
    if !probes.is_empty() {
        let env = container["env"].as_array_mut();
        env.expect("made above").push(variable(probes));
    }
    // The hook also runs when the app has ended: a Job would end later by the whole wait.
    if !ends_by_itself {
        let wait = injection.drain_wait.to_string();
        let command = json!(["/proxyunwrap-dataplane", "drain", "--wait", wait]);
        container["lifecycle"] = json!({ "preStop": { "exec": { "command": command } } });
    }
    container
}

/// The probes that the sidecar answers for the app, as an entry of `env`.
pub(super) fn variable(probes: &Probes) -> Value {
    json!({ "name": PROBES, "value": probes.text() })
}

fn ready() -> Value {
    json!({ "path": "/readyz", "port": ADMIN_PORT, "scheme": "HTTP" })
}

/// No capability, or NET_RAW: one that is added reaches root only.
fn security(mode: SourceMode) -> Value {
    let (user, capabilities) = match mode {
        SourceMode::Routed => (USER, json!({ "drop": ["ALL"] })),
        SourceMode::Transparent => (0, json!({ "drop": ["ALL"], "add": ["NET_RAW"] })),
    };
    json!({
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": user != 0,
        "privileged": false,
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": capabilities,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

fn log(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    }
}
