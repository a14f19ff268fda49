//! Routing rules and routes as `ip` knows them: plain data and its text.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The protocol number on every rule and route of ours: what carries it is ours to remove.
pub(super) const OURS: u8 = 0xE1;

/// `RTPROT_KERNEL`: made by the kernel itself.
pub(super) const KERNEL: u8 = 2;

/// `RT_TABLE_LOCAL`: the kernel keeps the addresses of this namespace there.
pub(super) const LOCAL_TABLE: u32 = 255;

/// The table of our own, where every address is local.
pub(super) const OUR_TABLE: u32 = 123;

/// Which of the two networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The loopback address an app is dialled at.
    pub fn loopback(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::LOCALHOST.into(),
            Self::V6 => Ipv6Addr::LOCALHOST.into(),
        }
    }

    /// What an app on loopback answers from: IPv4 has a whole network, IPv6 one address.
    pub fn loopback_net(self) -> IpNet {
        match self {
            Self::V4 => Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8).into(),
            Self::V6 => Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128).into(),
        }
    }

    /// Every address of the family.
    pub fn everything(self) -> IpNet {
        match self {
            Self::V4 => Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
            Self::V6 => Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    /// The command that speaks of this family.
    pub fn ip(self) -> &'static str {
        match self {
            Self::V4 => "ip",
            Self::V6 => "ip -6",
        }
    }
}

/// One line of `ip rule`. Its text is the selector and the action, without priority and owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// IPv4 or IPv6.
    pub family: Family,
    /// The priority: lower is asked first.
    pub pref: u32,
    /// Only packets from here; `None` is "from all".
    pub from: Option<IpNet>,
    /// Only packets that come in by this interface; `lo` means those this namespace sends.
    pub iif: Option<String>,
    /// The table to ask.
    pub lookup: u32,
    /// Routes of this prefix length or shorter do not count.
    pub suppress_prefixlength: Option<u32>,
    /// Who made it (`RTPROT_*`).
    pub protocol: u8,
    /// It has something this type cannot say, so it is not ours.
    pub more: bool,
}

impl Rule {
    /// A rule of ours for every packet.
    pub(super) fn new(family: Family, pref: u32, lookup: u32) -> Self {
        Self {
            family,
            pref,
            from: None,
            iif: None,
            lookup,
            suppress_prefixlength: None,
            protocol: OURS,
            more: false,
        }
    }

    /// The kernel's own IPv4 rule 0, as a fresh namespace has it.
    pub(super) fn kernels_own() -> Self {
        Self {
            protocol: KERNEL,
            ..Self::new(Family::V4, 0, LOCAL_TABLE)
        }
    }

    /// Only for answers of an app on loopback.
    pub(super) fn for_loopback_answers(self) -> Self {
        let from = Some(self.family.loopback_net());
        Self {
            from,
            iif: Some("lo".to_owned()),
            ..self
        }
    }

    /// The table counts except for its route to everywhere.
    pub(super) fn without_default(self) -> Self {
        Self {
            suppress_prefixlength: Some(0),
            ..self
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Some(net) => write!(f, "from {}", Bare(net))?,
            None => write!(f, "from all")?,
        }
        if let Some(iif) = &self.iif {
            write!(f, " iif {iif}")?;
        }
        write!(f, " lookup {}", TableName(self.lookup))?;
        if let Some(length) = self.suppress_prefixlength {
            write!(f, " suppress_prefixlength {length}")?;
        }
        if self.more { write!(f, " …") } else { Ok(()) }
    }
}

/// A route that makes every address of a family one of this namespace's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// IPv4 or IPv6.
    pub family: Family,
    /// The table it stands in.
    pub table: u32,
    /// The source the kernel picks for a socket that has none.
    pub src: Option<IpAddr>,
    /// Who made it (`RTPROT_*`).
    pub protocol: u8,
}

impl Route {
    /// Ours, with loopback as the source: an answer stays on loopback even when its socket is
    /// bound to the wildcard address.
    pub(super) fn new(family: Family, table: u32) -> Self {
        Self {
            family,
            table,
            src: Some(family.loopback()),
            protocol: OURS,
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let everything = self.family.everything();
        write!(
            f,
            "local {everything} dev lo table {}",
            TableName(self.table)
        )?;
        if let Some(src) = self.src {
            write!(f, " src {src}")
        } else {
            Ok(())
        }
    }
}

/// A network as the commands print it: a single address has no prefix length.
pub(super) struct Bare(pub IpNet);

impl fmt::Display for Bare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let single = self.0.prefix_len() == self.0.max_prefix_len();
        if single {
            write!(f, "{}", self.0.addr())
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// A table as `ip` names it without a configuration file.
struct TableName(u32);

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == LOCAL_TABLE {
            write!(f, "local")
        } else {
            write!(f, "{}", self.0)
        }
    }
}
