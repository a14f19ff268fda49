//! The cluster that the target asks about: a resource for every pod with the label `app: web`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_operator::policy::{Networks, Origin, Policy};
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::world::World;

/// The namespace of everything.
pub const NAMESPACE: &str = "shop";

const RESOURCE: &str = "
apiVersion: proxyunwrap.dev/v1alpha1
kind: ProxyUnwrap
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  ports: [{name: http}, {port: 9090, app: {ipv4: 127.0.0.1:9091}}]
";

const SETTINGS_FILE: &str = "
trustedPeers: [10.0.0.0/8]
dataplane: {image: dataplane}
webhook: {configuration: proxyunwrap, service: proxyunwrap, secret: proxyunwrap}
";

/// What is set.
pub static SETTINGS: LazyLock<Settings> =
    LazyLock::new(|| serde_saphyr::from_str(SETTINGS_FILE).expect("written above"));

/// What there is.
pub static WORLD: LazyLock<World> = LazyLock::new(|| World {
    unwraps: BTreeMap::from([(NAMESPACE.to_owned(), vec![Arc::new(resource())])]),
    ..World::default()
});

/// What it says about a pod.
pub static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy {
    origin: Origin::Resource("web".to_owned()),
    spec: resource().spec,
    peers: Networks {
        require: ["10.0.0.0/8".parse().expect("a network")].into(),
        ..Networks::default()
    },
    port_peers: vec![None, None],
});

fn resource() -> ProxyUnwrap {
    serde_saphyr::from_str(RESOURCE).expect("written above")
}
