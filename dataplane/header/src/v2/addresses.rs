//! The address block: client, destination, their ports, in network order.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Endpoints, UnknownKind};

/// The family nibble.
#[derive(Clone, Copy)]
pub(super) enum Family {
    Unspec,
    Inet,
    Inet6,
    Unix,
}

impl Family {
    /// `None` for the values the specification leaves undefined.
    pub(super) const fn read(nibble: u8) -> Option<Self> {
        match nibble {
            0 => Some(Self::Unspec),
            1 => Some(Self::Inet),
            2 => Some(Self::Inet6),
            3 => Some(Self::Unix),
            _ => None,
        }
    }

    /// Bytes of its address block.
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Unspec => 0,
            Self::Inet => INET_LEN,
            Self::Inet6 => INET6_LEN,
            Self::Unix => 216,
        }
    }

    /// What its address block says; `block` is of its [`len`](Self::len).
    pub(super) fn endpoints(self, block: &[u8]) -> Endpoints {
        let addresses = match self {
            Self::Unspec => None,
            Self::Unix => return Endpoints::Unknown(UnknownKind::Unix),
            Self::Inet => block.try_into().ok().map(inet),
            Self::Inet6 => block.try_into().ok().map(inet6),
        };
        addresses.unwrap_or(Endpoints::Unknown(UnknownKind::Unspec))
    }
}

const INET_LEN: usize = 12;
const INET6_LEN: usize = 36;

fn inet(block: &[u8; INET_LEN]) -> Endpoints {
    let [a, b, c, d, e, f, g, h, ports @ ..] = *block;
    pair(Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, f, g, h), ports)
}

fn inet6(block: &[u8; INET6_LEN]) -> Endpoints {
    let (mut client, mut destination, mut ports) = ([0; 16], [0; 16], [0; 4]);
    let fields = client.iter_mut().chain(&mut destination).chain(&mut ports);
    fields.zip(block).for_each(|(field, byte)| *field = *byte);
    pair(Ipv6Addr::from(client), Ipv6Addr::from(destination), ports)
}

fn pair<T: Into<IpAddr>>(client: T, destination: T, ports: [u8; 4]) -> Endpoints {
    let [a, b, c, d] = ports;
    Endpoints::Addresses {
        client: SocketAddr::new(client.into(), u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination.into(), u16::from_be_bytes([c, d])),
    }
}
