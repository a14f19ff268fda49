//! Values as a person writes them: durations, networks, listeners, apps.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::connection::ladder::Apps;

/// A duration such as `5s` or `1m 30s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span(pub Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Self).map_err(|error| {
            de::Error::custom(format!(
                "{text:?} is not a duration such as 5s or 500ms: {error}"
            ))
        })
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

/// A network such as `10.0.0.0/8`; a bare address means that address alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub IpNet);

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => Ok(IpNet::from(address)),
            Err(_) => text.parse::<IpNet>(),
        };
        network
            .map(Self)
            .map_err(|_| format!("{text:?} is not a network such as 10.0.0.0/8 or 2001:db8::/32"))
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Where to listen: a port number for every address of the machine, or a list of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a port number, or a list of addresses such as [\"10.9.0.2:15001\"]"
)]
pub enum Listen {
    /// `[::]:port` for both families, or `0.0.0.0:port` on a machine without IPv6.
    Port(u16),
    /// Exactly these.
    Addresses(Vec<SocketAddr>),
}

impl Listen {
    /// The addresses to bind; `ipv6` says whether the machine has that family.
    pub fn addresses(&self, ipv6: bool) -> Vec<SocketAddr> {
        match self {
            Self::Port(port) if ipv6 => vec![(Ipv6Addr::UNSPECIFIED, *port).into()],
            Self::Port(port) => vec![(Ipv4Addr::UNSPECIFIED, *port).into()],
            Self::Addresses(addresses) => addresses.clone(),
        }
    }
}

/// Where the app listens: a port number for loopback of both families, or an address for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a port number, or {ipv4: 127.0.0.1:8080, ipv6: \"[::1]:8080\"} with one of them at least"
)]
pub enum App {
    /// 127.0.0.1 and ::1.
    Port(u16),
    /// One address for each family of client.
    Addresses(AppAddresses),
}

/// An address for each family of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppAddresses {
    /// Where clients of IPv4 are dialled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<SocketAddrV4>,
    /// Where clients of IPv6 are dialled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<SocketAddrV6>,
}

impl App {
    /// The addresses to dial; None when neither family is given.
    pub fn apps(&self) -> Option<Apps> {
        match *self {
            Self::Port(port) => Some(Apps {
                ipv4: Some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)),
                ipv6: Some(SocketAddrV6::new(Ipv6Addr::LOCALHOST, port, 0, 0)),
            }),
            Self::Addresses(AppAddresses {
                ipv4: None,
                ipv6: None,
            }) => None,
            Self::Addresses(AppAddresses { ipv4, ipv6 }) => Some(Apps { ipv4, ipv6 }),
        }
    }
}
