//! The road of a connection, client — balancer — pod, in namespaces joined by cables.
//!
//! Each hop has IPv4 and IPv6. Nothing routes between the cables: what reaches the pod came from
//! the balancer, as behind a load balancer that ends connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::namespace::Namespace;
use super::pod::Pod;

pub const CLIENT4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
pub const CLIENT6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xc, 0, 0, 0, 0, 7));

/// The balancer's side towards the client: what a client dials.
pub const FRONT4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub const FRONT6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xc, 0, 0, 0, 0, 1));

/// The balancer's side towards the pod: the peer, as the dataplane sees it.
pub const BALANCER4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));
pub const BALANCER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1));

pub const POD4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));
pub const POD6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 2));

/// A client, a balancer and a pod, cabled; nothing runs in them yet.
pub struct Lab {
    pub client: Namespace,
    pub balancer: Namespace,
    pub pod: Pod,
}

impl Lab {
    /// `label` names the namespaces: short, so that `ip netns` shows which test they are of.
    #[track_caller]
    pub fn new(label: &str) -> Self {
        let client = Namespace::new(&format!("{label}-client"));
        let balancer = Namespace::new(&format!("{label}-balancer"));
        let pod = Pod::new(&format!("{label}-pod"));
        cable(
            &client,
            [CLIENT4, CLIENT6],
            &balancer,
            "front",
            [FRONT4, FRONT6],
        );
        cable(
            &pod.namespace,
            [POD4, POD6],
            &balancer,
            "back",
            [BALANCER4, BALANCER6],
        );
        Self {
            client,
            balancer,
            pod,
        }
    }
}

/// Cables `near`'s eth0 to `far`'s interface; `far` is `near`'s default gateway, as a pod has one.
#[track_caller]
fn cable(
    near: &Namespace,
    own: [IpAddr; 2],
    far: &Namespace,
    interface: &str,
    theirs: [IpAddr; 2],
) {
    near.cable("eth0", far, interface);
    for (own, theirs) in own.into_iter().zip(theirs) {
        let bits = if own.is_ipv4() { 24 } else { 64 };
        near.address("eth0", &format!("{own}/{bits}"));
        far.address(interface, &format!("{theirs}/{bits}"));
        near.sh(&format!("ip route add default via {theirs}"));
    }
}
