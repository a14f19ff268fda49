//! Annotations laid over what governs a pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proxyunwrap_api::ProxyUnwrapSpec;
use proxyunwrap_api::annotations::{PortRef, WishedPort, Wishes};
use proxyunwrap_api::ports::Port;

use super::service::at_loopback;
use crate::settings::Settings;

/// Lays all that is said, but ports, over a spec.
pub(super) fn fields(wishes: &Wishes, spec: &mut ProxyUnwrapSpec, settings: &Settings) {
    let whole = spec.dataplane.resources.is_some();
    wishes.lay_over(spec);
    // Resources of a spec stand instead of the operator's; an annotation names a single one of them.
    if let (false, Some(said)) = (whole, &mut spec.dataplane.resources) {
        let operators = settings.dataplane.resources.as_ref();
        fill_in(said, operators.cloned().unwrap_or_default());
    }
}

/// The ports that a pod wishes. One that the resource names, too, keeps what is set for it there:
/// its own list of peers above all.
pub(super) fn ports(wished: &[WishedPort], said: Option<&[Port]>) -> Vec<Port> {
    let said = said.unwrap_or_default();
    wished.iter().map(|one| port(one, said)).collect()
}

fn port(wished: &WishedPort, said: &[Port]) -> Port {
    let bare = match &wished.port {
        PortRef::Name(name) => Port {
            name: Some(name.clone()),
            ..Port::default()
        },
        PortRef::Number(number) => Port {
            port: Some(*number),
            ..Port::default()
        },
    };
    let same = |one: &&Port| one.name == bare.name && one.port == bare.port;
    let mut port = said.iter().find(same).cloned().unwrap_or(bare);
    port.app = wished.app.map(at_loopback).or(port.app);
    port
}

fn fill_in(said: &mut ResourceRequirements, others: ResourceRequirements) {
    fill_in_amounts(&mut said.requests, others.requests);
    fill_in_amounts(&mut said.limits, others.limits);
}

type Amounts = Option<BTreeMap<String, Quantity>>;

fn fill_in_amounts(said: &mut Amounts, others: Amounts) {
    for (name, amount) in others.into_iter().flatten() {
        said.get_or_insert_default().entry(name).or_insert(amount);
    }
}
