//! Which clients a header may name.
//!
//! Whatever the app grants to an address is only as strong as this list: a claim of 127.0.0.1 would
//! be localhost, one of the pod's own address the pod itself, and for wildcard and multicast sources
//! the kernel picks another address than the one asked for (`inet_bind`, net/ipv4/af_inet.c).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::address::Client;

/// Why a claimed client is not dialled for. A closed set: the `reason` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// 0.0.0.0/8 or ::.
    Unspecified,
    /// 127.0.0.0/8 or ::1.
    Loopback,
    /// 224.0.0.0/4 or ff00::/8.
    Multicast,
    /// 255.255.255.255, or the broadcast address of one of the pod's networks.
    Broadcast,
    /// 240.0.0.0/4.
    Reserved,
    /// 169.254.0.0/16 or fe80::/10.
    LinkLocal,
    /// One of the pod's own addresses.
    Own,
    /// In a network that the configuration refuses.
    Configured,
    /// Port 0, where the configuration does not ask for an ephemeral one.
    PortZero,
}

impl Refusal {
    /// Every refusal, for the metric's labels.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Loopback,
        Self::Multicast,
        Self::Broadcast,
        Self::Reserved,
        Self::LinkLocal,
        Self::Own,
        Self::Configured,
        Self::PortZero,
    ];

    /// Value of the `reason` label.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Reserved => "reserved",
            Self::LinkLocal => "link_local",
            Self::Own => "own",
            Self::Configured => "configured",
            Self::PortZero => "port_zero",
        }
    }
}

/// The addresses of this network namespace, read by whoever starts the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Addresses of every interface.
    pub addresses: Vec<IpAddr>,
    /// Broadcast addresses of its IPv4 networks.
    pub broadcasts: Vec<Ipv4Addr>,
}

/// What the configuration says of claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Networks whose addresses no header may name.
    pub refuse: Vec<IpNet>,
    /// Whether a client with port 0 is dialled for from an ephemeral port.
    pub port_zero: bool,
}

/// The client to dial for, in its plainest form, or why not.
pub fn check(client: Client, claims: &Claims, own: &Own) -> Result<Client, Refusal> {
    let client = plain(client);
    let ip = client.address().ip();
    for ip in [Some(ip), embedded(ip).map(IpAddr::V4)]
        .into_iter()
        .flatten()
    {
        check_ip(ip, claims, own)?;
    }
    match client.address().port() {
        0 if !claims.port_zero => Err(Refusal::PortZero),
        _ => Ok(client),
    }
}

fn check_ip(ip: IpAddr, claims: &Claims, own: &Own) -> Result<(), Refusal> {
    let class = match ip {
        IpAddr::V4(v4) => class_v4(v4, own),
        IpAddr::V6(v6) => class_v6(v6),
    };
    match class {
        Some(refusal) => Err(refusal),
        None if own.addresses.contains(&ip) => Err(Refusal::Own),
        None if claims.refuse.iter().any(|net| net.contains(&ip)) => Err(Refusal::Configured),
        None => Ok(()),
    }
}

fn class_v4(ip: Ipv4Addr, own: &Own) -> Option<Refusal> {
    match ip.octets() {
        [0, ..] => Some(Refusal::Unspecified),
        [127, ..] => Some(Refusal::Loopback),
        [169, 254, ..] => Some(Refusal::LinkLocal),
        [224..=239, ..] => Some(Refusal::Multicast),
        [255, 255, 255, 255] => Some(Refusal::Broadcast),
        [240..=255, ..] => Some(Refusal::Reserved),
        _ if own.broadcasts.contains(&ip) => Some(Refusal::Broadcast),
        _ => None,
    }
}

fn class_v6(ip: Ipv6Addr) -> Option<Refusal> {
    match ip {
        _ if ip.is_unspecified() => Some(Refusal::Unspecified),
        _ if ip.is_loopback() => Some(Refusal::Loopback),
        _ if ip.is_multicast() => Some(Refusal::Multicast),
        _ if ip.is_unicast_link_local() => Some(Refusal::LinkLocal),
        _ => None,
    }
}

/// IPv4-compatible addresses (`::a.b.c.d`, RFC 4291 section 2.5.5.1) become IPv4, as mapped ones did.
fn plain(client: Client) -> Client {
    let IpAddr::V6(v6) = client.address().ip() else {
        return client;
    };
    match v6.octets() {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] if a != 0 || b != 0 => {
            Client::new((Ipv4Addr::new(a, b, c, d), client.address().port()).into())
        }
        _ => client,
    }
}

/// The IPv4 address that a 6to4 (RFC 3056) or NAT64 (RFC 6052, well-known prefix) address stands for.
fn embedded(ip: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = ip else { return None };
    match v6.octets() {
        [0x20, 0x02, a, b, c, d, ..] => Some(Ipv4Addr::new(a, b, c, d)),
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Own {
        Own {
            addresses: vec!["10.9.0.2".parse().unwrap(), "fd00:9::2".parse().unwrap()],
            broadcasts: vec!["10.9.0.255".parse().unwrap()],
        }
    }

    #[track_caller]
    fn check_one(client: &str, want: Result<&str, Refusal>) {
        let claims = Claims {
            refuse: vec!["192.0.2.0/24".parse().unwrap()],
            port_zero: false,
        };
        let got = check(Client::new(client.parse().unwrap()), &claims, &own());
        assert_eq!(
            got.map(|c| c.to_string()),
            want.map(str::to_owned),
            "{client}"
        );
    }

    #[test]
    fn ordinary_clients_are_allowed() {
        check_one("203.0.113.7:51000", Ok("203.0.113.7:51000"));
        check_one("10.1.2.3:51000", Ok("10.1.2.3:51000"));
        check_one("[2001:db8::7]:51000", Ok("[2001:db8::7]:51000"));
    }

    #[test]
    fn dangerous_clients_are_refused_with_their_class() {
        for (client, want) in [
            ("0.0.0.0:1", Refusal::Unspecified),
            ("0.1.2.3:1", Refusal::Unspecified),
            ("[::]:1", Refusal::Unspecified),
            ("127.0.0.1:1", Refusal::Loopback),
            ("127.255.0.9:1", Refusal::Loopback),
            ("[::1]:1", Refusal::Loopback),
            ("224.0.0.1:1", Refusal::Multicast),
            ("[ff02::1]:1", Refusal::Multicast),
            ("255.255.255.255:1", Refusal::Broadcast),
            ("10.9.0.255:1", Refusal::Broadcast),
            ("240.0.0.1:1", Refusal::Reserved),
            ("169.254.169.254:1", Refusal::LinkLocal),
            ("[fe80::1]:1", Refusal::LinkLocal),
            ("10.9.0.2:1", Refusal::Own),
            ("[fd00:9::2]:1", Refusal::Own),
            ("192.0.2.9:1", Refusal::Configured),
            ("203.0.113.7:0", Refusal::PortZero),
        ] {
            check_one(client, Err(want));
        }
    }

    #[test]
    fn a_disguise_is_what_it_stands_for() {
        check_one("[::ffff:127.0.0.1]:1", Err(Refusal::Loopback));
        check_one("[::127.0.0.1]:1", Err(Refusal::Loopback));
        check_one("[2002:7f00:1::]:1", Err(Refusal::Loopback));
        check_one("[64:ff9b::10.9.0.2]:1", Err(Refusal::Own));
        check_one("[::ffff:203.0.113.7]:9", Ok("203.0.113.7:9"));
        check_one("[::203.0.113.7]:9", Ok("203.0.113.7:9"));
        check_one("[2002:cb00:7107::1]:9", Ok("[2002:cb00:7107::1]:9"));
    }

    #[test]
    fn port_zero_is_dialled_for_when_configured() {
        let claims = Claims {
            refuse: vec![],
            port_zero: true,
        };
        let client = Client::new("203.0.113.7:0".parse().unwrap());
        assert_eq!(check(client, &claims, &own()), Ok(client));
    }

    #[test]
    fn every_reason_is_its_own_word() {
        let mut words: Vec<_> = Refusal::ALL.iter().map(|r| r.reason()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Refusal::ALL.len());
    }
}
