//! An nf_tables table as `nft` knows it: plain data and its text.
//!
//! Only the handful of matches and actions the plan uses exist here.

use std::fmt;

use ipnet::IpNet;

use super::rule::{Bare, Family};

/// The name of our table, in whichever family it stands.
pub(super) const NAME: &str = "proxyunwrap";

/// Where the table's chains hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableFamily {
    /// On interfaces: loopback traffic never meets it. The egress hook exists since Linux 5.16.
    Netdev,
    /// In the stack: every packet meets it.
    Inet,
}

/// Both, for whoever looks for tables of ours.
pub(super) const FAMILIES: [TableFamily; 2] = [TableFamily::Netdev, TableFamily::Inet];

/// A whole table; its text is what `nft -f` reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// Where its chains hang.
    pub family: TableFamily,
    /// In the order they are made.
    pub chains: Vec<Chain>,
}

/// A list of statements, run for each packet of a hook or jumped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    /// Its name.
    pub name: &'static str,
    /// None for a chain that others jump to.
    pub hook: Option<Hook>,
    /// In order.
    pub statements: Vec<Statement>,
}

/// A place in a packet's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    /// Which place.
    pub point: HookPoint,
    /// Lower runs earlier.
    pub priority: i32,
    /// The interfaces, in the netdev family; else empty.
    pub devices: Vec<String>,
}

/// The hooks used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookPoint {
    /// netdev: a packet enters by an interface.
    Ingress,
    /// netdev: a packet leaves by an interface.
    Egress,
    /// inet: a packet enters.
    Prerouting,
    /// inet: this namespace sends a packet.
    Output,
    /// inet: a packet leaves.
    Postrouting,
}

/// One rule of a chain: when all matches hold, the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// All must hold.
    pub matches: Vec<Match>,
    /// What then happens.
    pub action: Action,
}

/// A question about a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match {
    /// It is of this family.
    Family(Family),
    /// It came in by this interface.
    Iifname(String),
    /// It leaves by this interface.
    Oifname(String),
    /// Its source is in this network.
    Source(IpNet),
    /// It is TCP from this port.
    TcpSource(u16),
    /// It is TCP to this port.
    TcpDestination(u16),
    /// It is an ICMP error that says a TCP packet of ours, from this port, was too big.
    TooBig(Family, u16),
}

/// What happens to a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// It is gone.
    Drop,
    /// It goes on after the jump that led here.
    Return,
    /// It goes through another chain.
    Jump(&'static str),
    /// It is from this TCP port now, checksum included.
    SetTcpSource(u16),
    /// It is to this TCP port now, checksum included.
    SetTcpDestination(u16),
    /// The packet an ICMP error quotes is from this TCP port now, ICMP's checksum included. `nft`
    /// has no words for that checksum: what it makes of this text is not delivered.
    SetQuotedSource(Family, u16),
}

impl Statement {
    /// One match, one action.
    pub(super) fn when(matched: Match, action: Action) -> Self {
        Self {
            matches: vec![matched],
            action,
        }
    }

    /// The action for every packet.
    pub(super) fn always(action: Action) -> Self {
        Self {
            matches: Vec::new(),
            action,
        }
    }
}

impl Chain {
    /// A chain that others jump to.
    pub(super) fn regular(name: &'static str, statements: Vec<Statement>) -> Self {
        Self {
            name,
            hook: None,
            statements,
        }
    }
}

impl Table {
    /// Whether it does something that the same text given to `nft` would not.
    pub(super) fn is_beyond_nft(&self) -> bool {
        let mut statements = self.chains.iter().flat_map(|chain| &chain.statements);
        statements.any(|statement| matches!(statement.action, Action::SetQuotedSource(..)))
    }

    /// The statement's text, in the family's words.
    pub(super) fn text_of(&self, statement: &Statement) -> String {
        let matches = statement
            .matches
            .iter()
            .map(|m| format!("{} ", m.text(self.family)));
        format!("{}{}", matches.collect::<String>(), statement.action)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "table {} {NAME} {{", self.family)?;
        for chain in &self.chains {
            writeln!(f, "\tchain {} {{", chain.name)?;
            if let Some(hook) = &chain.hook {
                writeln!(f, "\t\t{hook}")?;
            }
            for statement in &chain.statements {
                writeln!(f, "\t\t{}", self.text_of(statement))?;
            }
            writeln!(f, "\t}}")?;
        }
        write!(f, "}}")
    }
}

impl fmt::Display for TableFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Netdev => "netdev",
            Self::Inet => "inet",
        })
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = match self.point {
            HookPoint::Ingress => "ingress",
            HookPoint::Egress => "egress",
            HookPoint::Prerouting => "prerouting",
            HookPoint::Output => "output",
            HookPoint::Postrouting => "postrouting",
        };
        write!(f, "type filter hook {point}")?;
        if let [device] = self.devices.as_slice() {
            write!(f, " device \"{device}\"")?;
        } else if !self.devices.is_empty() {
            write!(f, " devices = {{ \"{}\" }}", self.devices.join("\", \""))?;
        }
        write!(f, " priority {}; policy accept;", self.priority)
    }
}

impl Match {
    fn text(&self, table: TableFamily) -> String {
        match (self, table) {
            (Self::Family(Family::V4), TableFamily::Netdev) => "meta protocol ip".to_owned(),
            (Self::Family(Family::V6), TableFamily::Netdev) => "meta protocol ip6".to_owned(),
            (Self::Family(Family::V4), TableFamily::Inet) => "meta nfproto ipv4".to_owned(),
            (Self::Family(Family::V6), TableFamily::Inet) => "meta nfproto ipv6".to_owned(),
            (Self::Iifname(name), _) => format!("iifname \"{name}\""),
            (Self::Oifname(name), _) => format!("oifname \"{name}\""),
            (&Self::Source(IpNet::V4(net)), _) => format!("ip saddr {}", Bare(net.into())),
            (&Self::Source(IpNet::V6(net)), _) => format!("ip6 saddr {}", Bare(net.into())),
            (Self::TcpSource(port), _) => format!("tcp sport {port}"),
            (Self::TcpDestination(port), _) => format!("tcp dport {port}"),
            (Self::TooBig(Family::V4, port), _) => {
                format!("icmp type destination-unreachable @th,136,8 0x6 @th,224,16 {port:#x}")
            }
            (Self::TooBig(Family::V6, port), _) => {
                format!("icmpv6 type packet-too-big @th,112,8 0x6 @th,384,16 {port:#x}")
            }
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => write!(f, "drop"),
            Self::Return => write!(f, "return"),
            Self::Jump(chain) => write!(f, "jump {chain}"),
            Self::SetTcpSource(port) => write!(f, "tcp sport set {port}"),
            Self::SetTcpDestination(port) => write!(f, "tcp dport set {port}"),
            Self::SetQuotedSource(Family::V4, port) => write!(f, "@th,224,16 set {port:#x}"),
            Self::SetQuotedSource(Family::V6, port) => write!(f, "@th,384,16 set {port:#x}"),
        }
    }
}
