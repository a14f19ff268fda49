//! The namespace's interfaces and their addresses.

use std::net::IpAddr;

use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;

use super::Impossible;

/// One interface of the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interface {
    /// As `ip link` shows it.
    pub name: String,
    /// It is switched on.
    pub up: bool,
    /// It is `lo`.
    pub loopback: bool,
    /// Of both families.
    pub addresses: Vec<IpAddr>,
}

/// Reads all interfaces, in the kernel's order, for the calling thread's namespace.
pub(super) fn read() -> Result<Vec<Interface>, Errno> {
    let mut interfaces: Vec<Interface> = Vec::new();
    for entry in getifaddrs()? {
        let address = address(&entry);
        // An address with a label of its own ("eth0:1") belongs to the interface before the colon.
        let name = entry.interface_name.split(':').next().unwrap_or_default();
        if let Some(known) = interfaces
            .iter_mut()
            .find(|interface| interface.name == name)
        {
            known.addresses.extend(address);
            continue;
        }
        interfaces.push(Interface {
            name: name.to_owned(),
            up: entry.flags.contains(InterfaceFlags::IFF_UP),
            loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            addresses: address.into_iter().collect(),
        });
    }
    Ok(interfaces)
}

fn address(entry: &InterfaceAddress) -> Option<IpAddr> {
    let address = entry.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// The interfaces to steer and guard: those named, or all that carry the pod's own traffic.
pub(super) fn choose(
    names: &[String],
    interfaces: &[Interface],
) -> Result<Vec<String>, Impossible> {
    if names.is_empty() {
        let carries = |i: &&Interface| i.up && !i.loopback && !i.addresses.is_empty();
        return Ok(interfaces
            .iter()
            .filter(carries)
            .map(|i| i.name.clone())
            .collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        match interfaces.iter().find(|interface| interface.name == *name) {
            None => return Err(Impossible::NoInterface(name.clone())),
            Some(interface) if interface.loopback => {
                return Err(Impossible::Loopback(name.clone()));
            }
            Some(_) if chosen.contains(name) => {}
            Some(_) => chosen.push(name.clone()),
        }
    }
    Ok(chosen)
}
