//! Every label, annotation, container, volume and port that something outside may rely on.

/// The group of the resource, and the prefix of labels and annotations.
pub const GROUP: &str = "proxyunwrap.dev";

/// Name, without the group, of every annotation that is an answer of ours rather than a wish.
pub mod answers {
    /// What was injected, as JSON: version, policy, hash, ports.
    pub const STATUS: &str = "proxyunwrap.dev/status";
    /// The dataplane's configuration; the sidecar reads it as a file, and follows its changes.
    pub const CONFIG: &str = "proxyunwrap.dev/config";
    /// Why a pod that was meant was not injected: `Reason: sentence`.
    pub const REFUSED: &str = "proxyunwrap.dev/refused";
    /// On a workload's pod template: when the operator restarted it.
    pub const RESTARTED_AT: &str = "proxyunwrap.dev/restarted-at";
}

/// Label of every injected pod, with the value `true`.
pub const INJECTED: &str = "proxyunwrap.dev/injected";

/// Label that a person sets on a namespace: `enabled` or `disabled`.
pub const INJECTION: &str = "proxyunwrap.dev/injection";

/// Label that the operator keeps, with the value `true`, on namespaces with a `ProxyUnwrap` or an
/// annotated Service: the webhook is asked about every new pod there.
pub const MANAGED: &str = "proxyunwrap.dev/managed";

/// Annotation of the Secret with the webhook's certificate: `leaf` asks for a new certificate, any
/// other value for a new CA, too. The operator takes it away when it begins.
pub const ROTATE: &str = "proxyunwrap.dev/rotate";

/// The container that prepares the pod's network and ends.
pub const INIT_CONTAINER: &str = "proxyunwrap-init";

/// The native sidecar.
pub const SIDECAR: &str = "proxyunwrap";

/// The volume with the configuration.
pub const VOLUME: &str = "proxyunwrap-config";

/// Where the volume is mounted.
pub const CONFIG_FOLDER: &str = "/etc/proxyunwrap";

/// The configuration in that folder.
pub const CONFIG_FILE: &str = "config.yaml";

/// Environment variable of the sidecar with the probes that it answers for the app.
pub const PROBES: &str = "PROXYUNWRAP_PROBES";

/// Name of the sidecar's admin port.
pub const ADMIN_PORT_NAME: &str = "pu-admin";

/// Number of the sidecar's admin port.
pub const ADMIN_PORT: u16 = 15090;

/// The sidecar's first data port; each unwrapped port takes the next free one.
pub const FIRST_LISTEN: u16 = 15001;

/// Path of the admin port under which it answers `<container>/<kind>` probes for the app.
pub const APP_PROBE: &str = "/app-probe";

/// User and group of the sidecar: nobody's on any node.
pub const USER: i64 = 65532;

/// Who we are to server-side apply.
pub const FIELD_MANAGER: &str = "proxyunwrap-operator";

/// A network that no packet comes from: written where references lead to nobody, so that an empty
/// list is never taken for "no list".
pub const NOBODY: &str = "0.0.0.0/32";
