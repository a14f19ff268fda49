//! Services: which pods they select, and which ports of a pod they lead to.

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use proxyunwrap_api::annotations::{self, PortRef, WishedPort};
use proxyunwrap_api::ports::{App, Port};

use crate::refusal::{Reason, Refusal};

/// Why a Service's ports cannot be unwrapped.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// It has no such port.
    #[error("Service {service} has no port {wanted}; it has {there}")]
    NoSuchPort {
        service: String,
        wanted: String,
        there: String,
    },
    /// What is meant does not speak TCP.
    #[error("Service {service}: port {port} speaks {protocol}; only TCP can be unwrapped")]
    NotTcp {
        service: String,
        port: String,
        protocol: String,
    },
}

impl Error {
    /// As a refusal, for a reason that depends on who named the port.
    pub(super) fn refusal(&self, named: Reason) -> Refusal {
        let reason = match self {
            Self::NoSuchPort { .. } => named,
            Self::NotTcp { .. } => Reason::UdpPort,
        };
        Refusal::new(reason, self.to_string())
    }
}

/// Whether a Service asks that its pods be unwrapped, well-formed or not.
pub fn is_annotated(service: &Service) -> bool {
    let mut asks = false;
    for (key, text) in annotations::ours(service.annotations()) {
        match key {
            "inject" if text.trim().eq_ignore_ascii_case("false") => return false,
            "inject" | "ports" => asks = true,
            _ => {}
        }
    }
    asks
}

/// Whether a Service selects a pod.
pub(super) fn selects(service: &Service, pod: &Pod) -> bool {
    let labels = pod.labels();
    let mut equal = selector(service);
    has_selector(service) && equal.all(|(key, value)| labels.get(key) == Some(value))
}

/// Without selector it has its endpoints from elsewhere.
pub(super) fn has_selector(service: &Service) -> bool {
    selector(service).next().is_some()
}

fn selector(service: &Service) -> impl Iterator<Item = (&String, &String)> {
    let spec = service.spec.as_ref();
    let selector = spec.and_then(|spec| spec.selector.as_ref());
    selector.into_iter().flatten()
}

/// The pod's ports behind one named port of a Service, or behind all that speak TCP.
pub(super) fn ports(service: &Service, section: Option<&str>) -> Result<Vec<Port>, Error> {
    let Some(section) = section else {
        return all_ports(service);
    };
    let port = PortRef::Name(section.to_owned());
    named(service, &port).map(|port| vec![behind(port)])
}

/// The pod's ports behind those that the Service's annotation names, or behind all that speak TCP.
pub(super) fn wished_ports(
    service: &Service,
    wished: Option<&[WishedPort]>,
) -> Result<Vec<Port>, Error> {
    let Some(wished) = wished else {
        return all_ports(service);
    };
    let mut ports = Vec::new();
    for one in wished {
        let port = Port {
            app: one.app.map(at_loopback),
            ..behind(named(service, &one.port)?)
        };
        unite(&mut ports, vec![port]);
    }
    Ok(ports)
}

/// Adds ports that are not there yet. A name and a number may still be the same port of a pod; that
/// shows when its containers are looked at.
pub(super) fn unite(ports: &mut Vec<Port>, more: Vec<Port>) {
    for port in more {
        let same = |one: &Port| one.name == port.name && one.port == port.port;
        if !ports.iter().any(same) {
            ports.push(port);
        }
    }
}

/// The app at another port of loopback.
pub(super) fn at_loopback(port: u16) -> App {
    App {
        port: Some(port),
        ..App::default()
    }
}

fn all_ports(service: &Service) -> Result<Vec<Port>, Error> {
    let all = declared(service);
    let mut ports = Vec::new();
    for port in all.iter().filter(|port| is_tcp(port)) {
        unite(&mut ports, vec![behind(port)]);
    }
    match (ports.is_empty(), all.first()) {
        (true, Some(other)) => Err(not_tcp(service, other)),
        (true, None) | (false, _) => Ok(ports),
    }
}

/// One number may be there for TCP and for UDP.
fn named<'a>(service: &'a Service, wanted: &PortRef) -> Result<&'a ServicePort, Error> {
    let is = |port: &&ServicePort| match wanted {
        PortRef::Number(number) => port.port == i32::from(*number),
        PortRef::Name(name) => port.name.as_ref() == Some(name),
    };
    let found: Vec<_> = declared(service).iter().filter(is).collect();
    let tcp = found.iter().copied().find(|port| is_tcp(port));
    match (tcp, found.first()) {
        (Some(port), _) => Ok(port),
        (None, Some(other)) => Err(not_tcp(service, other)),
        (None, None) => Err(no_such_port(service, wanted)),
    }
}

/// A name stays a name: it may be another number in each pod.
fn behind(port: &ServicePort) -> Port {
    let number = |number: i32| u16::try_from(number).ok();
    match &port.target_port {
        Some(IntOrString::String(name)) => Port {
            name: Some(name.clone()),
            ..Port::default()
        },
        Some(IntOrString::Int(target)) => Port {
            port: number(*target),
            ..Port::default()
        },
        None => Port {
            port: number(port.port),
            ..Port::default()
        },
    }
}

fn declared(service: &Service) -> &[ServicePort] {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref());
    ports.unwrap_or_default()
}

fn is_tcp(port: &ServicePort) -> bool {
    port.protocol
        .as_deref()
        .is_none_or(|protocol| protocol == "TCP")
}

fn shown(port: &ServicePort) -> String {
    match &port.name {
        Some(name) => format!("{name} ({})", port.port),
        None => port.port.to_string(),
    }
}

fn not_tcp(service: &Service, port: &ServicePort) -> Error {
    Error::NotTcp {
        service: service.name_any(),
        port: shown(port),
        protocol: port.protocol.clone().unwrap_or_default(),
    }
}

fn no_such_port(service: &Service, wanted: &PortRef) -> Error {
    let there: Vec<_> = declared(service).iter().map(shown).collect();
    let there = match there.is_empty() {
        true => "none".to_owned(),
        false => there.join(", "),
    };
    let wanted = match wanted {
        PortRef::Number(number) => number.to_string(),
        PortRef::Name(name) => name.clone(),
    };
    let service = service.name_any();
    Error::NoSuchPort {
        service,
        wanted,
        there,
    }
}
