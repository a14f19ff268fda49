//! Addresses with a meaning, so that they cannot be swapped.

use std::fmt;
use std::net::SocketAddr;

/// Who opened the connection to us: usually a balancer. Never IPv4-mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(SocketAddr);

/// Whom the app is to see: the client a header names, or the peer itself. Never IPv4-mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(SocketAddr);

impl Peer {
    /// A dual-stack listener reports IPv4 peers as `::ffff:a.b.c.d`; they become IPv4 here.
    pub fn new(address: SocketAddr) -> Self {
        Self(unmapped(address))
    }

    /// The peer's address and port.
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl Client {
    /// The client, its address as plain as it can be written.
    pub fn new(address: SocketAddr) -> Self {
        Self(unmapped(address))
    }

    /// The client's address and port.
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl From<Peer> for Client {
    fn from(peer: Peer) -> Self {
        Self(peer.0)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `::ffff:a.b.c.d` as `a.b.c.d`; everything else without flow label and scope, as it was.
fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_peer_becomes_ipv4() {
        let peer = Peer::new("[::ffff:10.0.0.9]:40000".parse().unwrap());
        assert_eq!(peer.to_string(), "10.0.0.9:40000");
    }

    #[test]
    fn a_native_ipv6_client_stays_as_it_is() {
        let client = Client::new("[2001:db8::7]:51000".parse().unwrap());
        assert_eq!(client.to_string(), "[2001:db8::7]:51000");
    }
}
