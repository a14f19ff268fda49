//! Rules and routes in netlink's words: the only file that knows netlink-packet-route.

use libc::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, RTM_DELROUTE, RTM_DELRULE, RTM_GETROUTE, RTM_GETRULE,
    RTM_NEWROUTE, RTM_NEWRULE,
};
use netlink_packet_core::{Emitable, Parseable};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use super::rule::{Family, Route, Rule};
use super::socket::{Message, Netlink, Refused};

/// Rules and routes of one namespace.
pub(super) struct Routing {
    netlink: Netlink,
    /// The index of `lo`.
    loopback: u32,
}

impl Routing {
    /// For the calling thread's namespace.
    pub(super) fn open() -> Result<Self, Refused> {
        let netlink = Netlink::open(NETLINK_ROUTE)?;
        Ok(Self {
            netlink,
            loopback: if_nametoindex("lo")?,
        })
    }

    /// Every rule of both families, in the order they are asked.
    pub(super) fn rules(&mut self) -> Result<Vec<Rule>, Refused> {
        let mut rules = Vec::new();
        for family in [Family::V4, Family::V6] {
            let mut filter = RuleMessage::default();
            filter.header.family = family.into();
            let bodies = self
                .netlink
                .dump(&message(RTM_GETRULE, 0, &filter), RTM_NEWRULE);
            rules.extend(
                absent_family_is_empty(bodies)?
                    .iter()
                    .filter_map(|body| read_rule(body)),
            );
        }
        Ok(rules)
    }

    /// Every route that makes all addresses of a family local.
    pub(super) fn routes(&mut self) -> Result<Vec<Route>, Refused> {
        let mut routes = Vec::new();
        for family in [Family::V4, Family::V6] {
            let mut filter = RouteMessage::default();
            filter.header.address_family = family.into();
            let bodies = self
                .netlink
                .dump(&message(RTM_GETROUTE, 0, &filter), RTM_NEWROUTE);
            let bodies = absent_family_is_empty(bodies)?;
            // Without IPv6 the kernel answers with the routes it does have.
            let read = bodies.iter().filter_map(|body| read_route(body));
            routes.extend(read.filter(|route| route.family == family));
        }
        Ok(routes)
    }

    /// Adds a rule after those of the same priority.
    pub(super) fn add_rule(&mut self, rule: &Rule) -> Result<(), Refused> {
        // REPLACE would be ignored by the kernel and the rule be there twice.
        self.netlink.send(&[message(
            RTM_NEWRULE,
            NLM_F_CREATE | NLM_F_EXCL,
            &rule_message(rule),
        )])
    }

    /// Removes a rule; one that is gone already is fine.
    pub(super) fn delete_rule(&mut self, rule: &Rule) -> Result<(), Refused> {
        absent_is_fine(
            self.netlink
                .send(&[message(RTM_DELRULE, 0, &rule_message(rule))]),
        )
    }

    /// Adds a route.
    pub(super) fn add_route(&mut self, route: &Route) -> Result<(), Refused> {
        let message = message(
            RTM_NEWROUTE,
            NLM_F_CREATE | NLM_F_EXCL,
            &self.route_message(route),
        );
        self.netlink.send(&[message])
    }

    /// Removes a route; one that is gone already is fine.
    pub(super) fn delete_route(&mut self, route: &Route) -> Result<(), Refused> {
        let message = message(RTM_DELROUTE, 0, &self.route_message(route));
        absent_is_fine(self.netlink.send(&[message]))
    }

    fn route_message(&self, route: &Route) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = route.family.into();
        message.header.kind = RouteType::Local;
        message.header.protocol = RouteProtocol::from(route.protocol);
        // IPv4 refuses a local route of wider scope than the host; IPv6 has no scopes.
        message.header.scope = match route.family {
            Family::V4 => RouteScope::Host,
            Family::V6 => RouteScope::Universe,
        };
        message.attributes.push(RouteAttribute::Table(route.table));
        message.attributes.push(RouteAttribute::Oif(self.loopback));
        let src = route.src.map(|src| RouteAttribute::PrefSource(src.into()));
        message.attributes.extend(src);
        message
    }
}

fn rule_message(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = rule.family.into();
    message.header.action = RuleAction::ToTable;
    message.attributes.push(RuleAttribute::Table(rule.lookup));
    message.attributes.push(RuleAttribute::Priority(rule.pref));
    message
        .attributes
        .push(RuleAttribute::Protocol(rule.protocol.into()));
    if let Some(from) = rule.from {
        message.header.src_len = from.prefix_len();
        message.attributes.push(RuleAttribute::Source(from.addr()));
    }
    message
        .attributes
        .extend(rule.iif.clone().map(RuleAttribute::Iifname));
    let suppressed = rule
        .suppress_prefixlength
        .map(RuleAttribute::SuppressPrefixLen);
    message.attributes.extend(suppressed);
    message
}

fn read_rule(body: &[u8]) -> Option<Rule> {
    let message = RuleMessage::parse(body).ok()?;
    let header = &message.header;
    let family = Family::read(header.family)?;
    let mut rule = Rule {
        protocol: 0,
        ..Rule::new(family, 0, header.table.into())
    };
    rule.more = header.action != RuleAction::ToTable
        || header.flags.contains(RuleFlags::Invert)
        || header.dst_len != 0
        || header.tos != 0;
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Table(table) => rule.lookup = *table,
            RuleAttribute::Priority(pref) => rule.pref = *pref,
            RuleAttribute::Protocol(protocol) => rule.protocol = u8::from(*protocol),
            RuleAttribute::Source(ip) => {
                rule.from = ipnet::IpNet::new(*ip, header.src_len).ok();
            }
            RuleAttribute::Iifname(name) => rule.iif = Some(name.clone()),
            // The kernel says u32::MAX for "none".
            RuleAttribute::SuppressPrefixLen(u32::MAX) => {}
            RuleAttribute::SuppressPrefixLen(length) => rule.suppress_prefixlength = Some(*length),
            _ => rule.more = true,
        }
    }
    Some(rule)
}

fn read_route(body: &[u8]) -> Option<Route> {
    let message = RouteMessage::parse(body).ok()?;
    let header = &message.header;
    let family = Family::read(header.address_family)?;
    if header.kind != RouteType::Local || header.destination_prefix_length != 0 {
        return None;
    }
    let protocol = u8::from(header.protocol);
    let mut route = Route {
        family,
        table: header.table.into(),
        src: None,
        protocol,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::PrefSource(RouteAddress::Inet(ip)) => route.src = Some((*ip).into()),
            RouteAttribute::PrefSource(RouteAddress::Inet6(ip)) => route.src = Some((*ip).into()),
            _ => {}
        }
    }
    Some(route)
}

fn message(kind: u16, flags: i32, content: &impl Emitable) -> Message {
    let mut body = vec![0; content.buffer_len()];
    content.emit(&mut body);
    Message {
        kind,
        flags: flags | NLM_F_ACK,
        body,
    }
}

fn absent_family_is_empty(bodies: Result<Vec<Vec<u8>>, Refused>) -> Result<Vec<Vec<u8>>, Refused> {
    match bodies {
        Err(refused) if matches!(refused.errno, Errno::EAFNOSUPPORT | Errno::EOPNOTSUPP) => {
            Ok(Vec::new())
        }
        bodies => bodies,
    }
}

fn absent_is_fine(answer: Result<(), Refused>) -> Result<(), Refused> {
    match answer {
        Err(refused) if matches!(refused.errno, Errno::ENOENT | Errno::ESRCH) => Ok(()),
        answer => answer,
    }
}

impl Family {
    fn read(family: AddressFamily) -> Option<Self> {
        match family {
            AddressFamily::Inet => Some(Self::V4),
            AddressFamily::Inet6 => Some(Self::V6),
            _ => None,
        }
    }
}

impl From<Family> for AddressFamily {
    fn from(family: Family) -> Self {
        match family {
            Family::V4 => Self::Inet,
            Family::V6 => Self::Inet6,
        }
    }
}
