//! Which ports of a pod are unwrapped, and where the sidecar listens for each.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod};
use proxyunwrap_api::names::{ADMIN_PORT, FIRST_LISTEN, INIT_CONTAINER, SIDECAR};
use proxyunwrap_api::ports::{App, Port};

use super::InjectedPort;
use crate::policy::Policy;
use crate::refusal::{Reason, Refusal};

/// A port that a container declares.
struct Declared<'a> {
    container: &'a str,
    name: Option<&'a str>,
    port: u16,
    protocol: &'a str,
    /// Of a container that runs beside the app, not before it.
    serves: bool,
}

/// The unwrapped ports in the policy's order, each with a port of its own for the sidecar.
pub(super) fn injected(pod: &Pod, policy: &Policy) -> Result<Vec<InjectedPort>, Refusal> {
    let declared = declared(pod);
    let wanted = match policy.spec.ports.as_deref() {
        None | Some([]) => vec![only(&declared)?],
        Some(ports) => resolved(ports, &declared)?,
    };
    let taken = taken(&declared, &wanted, policy)?;
    let mut free = (FIRST_LISTEN..=u16::MAX).filter(|port| !taken.contains(port));
    let ports = wanted.into_iter().map(|(name, port)| {
        let listen = free.next().ok_or_else(|| {
            let message = format!("the pod declares every port above {FIRST_LISTEN}; none is left");
            Refusal::new(Reason::PortConflict, message)
        })?;
        Ok(InjectedPort { name, port, listen })
    });
    ports.collect()
}

/// What a policy says about one of a pod's ports, and where in its list; None if it names no ports, or
/// not this one any more.
pub(super) fn said<'a>(policy: &'a Policy, port: &InjectedPort) -> Option<(usize, &'a Port)> {
    let mut said = policy.spec.ports.iter().flatten().enumerate();
    said.find(|(_, said)| {
        said.name.as_deref() == Some(port.name.as_str()) || said.port == Some(port.port)
    })
}

/// The containers' ports, those of the app's containers first, and none of ours.
fn declared(pod: &Pod) -> Vec<Declared<'_>> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let beside = |one: &&Container| one.restart_policy.as_deref() == Some("Always");
    let before = spec.init_containers.iter().flatten();
    let apps = spec.containers.iter().map(|one| (one, true));
    let sidecars = before.clone().filter(beside).map(|one| (one, true));
    let inits = before.filter(|one| !beside(one)).map(|one| (one, false));
    let all = apps.chain(sidecars).chain(inits);
    let theirs = all.filter(|(one, _)| ![SIDECAR, INIT_CONTAINER].contains(&one.name.as_str()));
    theirs
        .flat_map(|(one, serves)| of_container(one, serves))
        .collect()
}

fn of_container(container: &Container, serves: bool) -> impl Iterator<Item = Declared<'_>> {
    let ports = container.ports.iter().flatten();
    ports.filter_map(move |port| {
        Some(Declared {
            container: &container.name,
            name: port.name.as_deref(),
            port: u16::try_from(port.container_port)
                .ok()
                .filter(|port| *port > 0)?,
            protocol: port.protocol.as_deref().unwrap_or("TCP"),
            serves,
        })
    })
}

/// The one TCP port that the pod declares, where nothing is said.
fn only(declared: &[Declared<'_>]) -> Result<(String, u16), Refusal> {
    let serving = || declared.iter().filter(|port| port.serves);
    let tcp = || serving().filter(|port| port.protocol == "TCP");
    let numbers: BTreeSet<u16> = tcp().map(|port| port.port).collect();
    match (numbers.len(), tcp().next()) {
        (1, Some(port)) => Ok((
            port.name
                .filter(is_plain)
                .map_or_else(|| port.port.to_string(), str::to_owned),
            port.port,
        )),
        (0, _) | (_, None) => match serving().find(|port| port.protocol == "UDP") {
            Some(port) => Err(udp(port)),
            None => Err(Refusal::new(
                Reason::NoMatchingPort,
                "no container declares a TCP port, and none is named; name it, as in \
                 proxyunwrap.dev/ports: \"8080\"",
            )),
        },
        _ => Err(Refusal::new(
            Reason::WhichPort,
            format!(
                "the pod declares several ports: {}; name those to unwrap, as in \
                 proxyunwrap.dev/ports: \"{}\"",
                list(tcp()),
                numbers.first().map_or(0, |port| *port),
            ),
        )),
    }
}

/// Ports that are named, without those that are the same port by another name.
fn resolved(ports: &[Port], declared: &[Declared<'_>]) -> Result<Vec<(String, u16)>, Refusal> {
    let mut found: Vec<(String, u16)> = Vec::new();
    let mut kept: Vec<&Port> = Vec::new();
    for wanted in ports {
        let (name, port) = one(wanted, declared)?;
        match found.iter().position(|(_, earlier)| *earlier == port) {
            None => {
                found.push((name, port));
                kept.push(wanted);
            }
            Some(index) if is_alike(kept[index], wanted) => {}
            Some(index) => {
                let message = format!(
                    "ports names {port} twice, as {} and as {name}, and not with the same \
                     settings; leave one out",
                    found[index].0
                );
                return Err(Refusal::new(Reason::InvalidPolicy, message));
            }
        }
    }
    Ok(found)
}

fn is_alike(one: &Port, other: &Port) -> bool {
    let nameless = |port: &Port| Port {
        name: None,
        port: None,
        ..port.clone()
    };
    nameless(one) == nameless(other)
}

fn one(wanted: &Port, declared: &[Declared<'_>]) -> Result<(String, u16), Refusal> {
    match (&wanted.name, wanted.port) {
        (Some(name), _) => Ok((name.clone(), by_name(name, declared)?)),
        (None, Some(port)) => by_number(port, declared).map(|()| (port.to_string(), port)),
        (None, None) => Err(Refusal::new(
            Reason::InvalidPolicy,
            "an entry of ports has neither name nor port; give one of them",
        )),
    }
}

/// As Services do it: the app's containers first, then native sidecars.
fn by_name(name: &str, declared: &[Declared<'_>]) -> Result<u16, Refusal> {
    let so_named = || {
        declared
            .iter()
            .filter(|port| port.serves && port.name == Some(name))
    };
    if let Some(port) = so_named().find(|port| port.protocol == "TCP") {
        return Ok(port.port);
    }
    match so_named().next() {
        Some(port) => Err(udp(port)),
        None => Err(Refusal::new(
            Reason::NoMatchingPort,
            format!(
                "no container has a TCP port by the name of {name:?}; the pod declares {}",
                list(declared.iter().filter(|port| port.serves)),
            ),
        )),
    }
}

/// A number need not be declared, but one that is declared for another protocol is a mistake.
fn by_number(number: u16, declared: &[Declared<'_>]) -> Result<(), Refusal> {
    let at_number = || {
        declared
            .iter()
            .filter(|port| port.serves && port.port == number)
    };
    match at_number().next() {
        Some(port) if at_number().all(|port| port.protocol != "TCP") => Err(udp(port)),
        _ => Ok(()),
    }
}

/// Numbers that the sidecar must not listen on.
fn taken(
    declared: &[Declared<'_>],
    wanted: &[(String, u16)],
    policy: &Policy,
) -> Result<BTreeSet<u16>, Refusal> {
    let declared_tcp = declared.iter().filter(|port| port.protocol == "TCP");
    let mut taken: BTreeSet<u16> = declared_tcp.clone().map(|port| port.port).collect();
    if let Some(port) = declared_tcp.clone().find(|port| port.port == ADMIN_PORT) {
        return Err(admin_port(&format!(
            "container {:?} declares",
            port.container
        )));
    }
    for (_, port) in wanted {
        taken.insert(*port);
    }
    for said in policy.spec.ports.iter().flatten() {
        taken.extend(app_ports(said)?);
    }
    match taken.insert(ADMIN_PORT) {
        true => Ok(taken),
        false => Err(admin_port("the policy names")),
    }
}

/// Where the app listens, if it isn't at the port itself.
fn app_ports(said: &Port) -> Result<Vec<u16>, Refusal> {
    let Some(App { port, ipv4, ipv6 }) = &said.app else {
        return Ok(Vec::new());
    };
    let texts = [ipv4, ipv6].into_iter().flatten();
    let given = texts.map(|text| match text.parse::<std::net::SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address.port()),
        _ => Err(Refusal::new(
            Reason::InvalidPolicy,
            format!("{text:?} is no address of loopback with a port, as in 127.0.0.1:8080"),
        )),
    });
    port.map(Ok).into_iter().chain(given).collect()
}

fn admin_port(who: &str) -> Refusal {
    let message = format!("{who} port {ADMIN_PORT}, which the sidecar's admin port needs; move it");
    Refusal::new(Reason::PortConflict, message)
}

/// A port of another protocol than TCP.
fn udp(port: &Declared<'_>) -> Refusal {
    let (reason, protocol) = match port.protocol {
        "UDP" => (Reason::UdpPort, "UDP"),
        other => (Reason::NoMatchingPort, other),
    };
    let (number, container) = (port.port, port.container);
    let message = format!(
        "port {number} of container {container:?} speaks {protocol}, and TCP is all that is \
         unwrapped; name another port"
    );
    Refusal::new(reason, message)
}

/// As in `http 8080 (web), 9090 (web)`.
fn list<'a>(ports: impl Iterator<Item = &'a Declared<'a>>) -> String {
    let one = |port: &Declared<'_>| {
        let name = port.name.map(|name| format!("{name} "));
        let (number, container) = (port.port, port.container);
        format!("{}{number} ({container})", name.unwrap_or_default())
    };
    let all: Vec<String> = ports.map(one).collect();
    match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    }
}

/// Whether it may stand in the dataplane's configuration.
fn is_plain(name: &&str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len()) && name.chars().all(plain)
}
