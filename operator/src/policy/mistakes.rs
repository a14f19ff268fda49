//! What the schema lets through and the dataplane or Kubernetes would refuse in a pod: a pod must
//! not break by what we add to it.

use std::net::{SocketAddrV4, SocketAddrV6};

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proxyunwrap_api::ProxyUnwrapSpec;
use proxyunwrap_api::ports::App;
use proxyunwrap_api::quantity::amount;

/// As the schema has it for `ports`; Services may lead to more.
const MOST_PORTS: usize = 32;

/// Resources of a container that can be asked for one by one.
const PLAIN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The first mistake in a spec.
pub(super) fn first(spec: &ProxyUnwrapSpec) -> Option<String> {
    too_many_ports(spec)
        .or_else(|| apps(spec))
        .or_else(|| spec.dataplane.image.as_deref().and_then(image))
        .or_else(|| spec.dataplane.resources.as_ref().and_then(resources))
}

fn too_many_ports(spec: &ProxyUnwrapSpec) -> Option<String> {
    let count = spec.ports.as_ref().map_or(0, Vec::len);
    let message = || format!("{count} ports are more than {MOST_PORTS}; name those to unwrap");
    (count > MOST_PORTS).then(message)
}

fn apps(spec: &ProxyUnwrapSpec) -> Option<String> {
    let mut apps = spec.ports.iter().flatten().enumerate();
    apps.find_map(|(index, port)| app(index, port.app.as_ref()?))
}

fn app(index: usize, app: &App) -> Option<String> {
    let ipv4 = app.ipv4.as_deref();
    let ipv6 = app.ipv6.as_deref();
    let bad4 = ipv4.filter(|text| text.parse::<SocketAddrV4>().is_err());
    let bad6 = ipv6.filter(|text| text.parse::<SocketAddrV6>().is_err());
    let text = bad4.or(bad6)?;
    Some(format!(
        "ports[{index}].app: {text} is no address and port such as 127.0.0.1:8080 or [::1]:8080"
    ))
}

fn image(image: &str) -> Option<String> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    let message = || format!("dataplane.image: {image:?} has a blank in it");
    image.contains(odd).then(message)
}

fn resources(resources: &ResourceRequirements) -> Option<String> {
    let lists = [
        ("requests", &resources.requests),
        ("limits", &resources.limits),
    ];
    for (list, amounts) in lists {
        for (name, quantity) in amounts.iter().flatten() {
            if let Some(mistake) = one_amount(name, quantity) {
                return Some(format!("dataplane.resources.{list}: {mistake}"));
            }
        }
    }
    PLAIN.iter().find_map(|name| above_limit(name, resources))
}

fn one_amount(name: &str, Quantity(text): &Quantity) -> Option<String> {
    if !PLAIN.contains(&name) {
        return Some(format!("{name} is none of {}", PLAIN.join(", ")));
    }
    match amount(text) {
        Some(_) => None,
        None => Some(format!(
            "{name}: {text:?} is no quantity such as 10m or 64Mi"
        )),
    }
}

fn above_limit(name: &str, resources: &ResourceRequirements) -> Option<String> {
    let of = |amounts: &Option<std::collections::BTreeMap<String, Quantity>>| {
        amounts
            .as_ref()
            .and_then(|amounts| amounts.get(name).cloned())
    };
    let (request, limit) = (of(&resources.requests)?, of(&resources.limits)?);
    let message = || {
        let (request, limit) = (&request.0, &limit.0);
        format!("dataplane.resources: {name} has a request of {request} above its limit of {limit}")
    };
    (amount(&request.0) > amount(&limit.0)).then(message)
}
