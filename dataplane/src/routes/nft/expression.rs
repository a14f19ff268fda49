//! A statement as the list of expressions nf_tables runs: load into register 1, compare, act.

use ipnet::IpNet;

use super::super::attribute::Attribute;
use super::super::rule::Family;
use super::super::table::{Action, Match, Statement, TableFamily};
use super::RULE_EXPRESSIONS;

const NAME: u16 = 1;
const DATA: u16 = 2;

/// `NFT_REG_1`, and the register a verdict goes to.
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;

const META_PROTOCOL: u32 = 1;
const META_IIFNAME: u32 = 6;
const META_OIFNAME: u32 = 7;
const META_NFPROTO: u32 = 15;
const META_L4PROTO: u32 = 16;

const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;

/// A number in the transport header: where it is, and where the checksum over it is.
struct Field {
    offset: u32,
    checksum: u32,
}

const TCP: u8 = 6;
const TCP_SOURCE: Field = Field {
    offset: 0,
    checksum: 16,
};
const TCP_DESTINATION: Field = Field {
    offset: 2,
    checksum: 16,
};

/// An ICMP error: eight bytes, then the packet it is about. Ours have no IP options and no
/// extension headers, so the quoted TCP header is 20 or 40 bytes further.
struct Quote {
    protocol: u8,
    error: u8,
    quoted_protocol: u32,
    source: Field,
}

/// "Destination unreachable", of which "fragmentation needed" is one (RFC 792, RFC 1191).
const QUOTE_V4: Quote = Quote {
    protocol: 1,
    error: 3,
    quoted_protocol: 8 + 9,
    source: Field {
        offset: 8 + 20,
        checksum: 2,
    },
};

/// "Packet too big" (RFC 4443).
const QUOTE_V6: Quote = Quote {
    protocol: 58,
    error: 2,
    quoted_protocol: 8 + 6,
    source: Field {
        offset: 8 + 40,
        checksum: 2,
    },
};

const DROP: i32 = 0;
const JUMP: i32 = -3;
const RETURN: i32 = -5;

/// The `NFTA_RULE_EXPRESSIONS` of a statement.
pub(super) fn all(table: TableFamily, statement: &Statement) -> Attribute {
    let mut expressions = Vec::new();
    for matched in &statement.matches {
        expressions.extend(is(table, matched));
    }
    expressions.extend(act(&statement.action));
    Attribute::List(RULE_EXPRESSIONS, expressions)
}

type Expression = Vec<Attribute>;

fn is(table: TableFamily, matched: &Match) -> Vec<Expression> {
    match matched {
        Match::Family(family) => of_family(table, *family),
        Match::Iifname(name) => vec![meta(META_IIFNAME), equals(&interface(name))],
        Match::Oifname(name) => vec![meta(META_OIFNAME), equals(&interface(name))],
        Match::Source(net) => from(table, *net),
        Match::TcpSource(port) => tcp(&TCP_SOURCE, *port),
        Match::TcpDestination(port) => tcp(&TCP_DESTINATION, *port),
        Match::TooBig(family, port) => too_big(table, *family, *port),
    }
}

/// An interface carries an ethertype, the stack an `NFPROTO_*`.
fn of_family(table: TableFamily, family: Family) -> Vec<Expression> {
    match (table, family) {
        (TableFamily::Netdev, Family::V4) => vec![meta(META_PROTOCOL), equals(&[0x08, 0x00])],
        (TableFamily::Netdev, Family::V6) => vec![meta(META_PROTOCOL), equals(&[0x86, 0xdd])],
        (TableFamily::Inet, Family::V4) => vec![meta(META_NFPROTO), equals(&[2])],
        (TableFamily::Inet, Family::V6) => vec![meta(META_NFPROTO), equals(&[10])],
    }
}

fn from(table: TableFamily, net: IpNet) -> Vec<Expression> {
    let (family, offset, address, mask) = match net {
        IpNet::V4(net) => (
            Family::V4,
            12,
            net.network().octets().to_vec(),
            net.netmask().octets().to_vec(),
        ),
        IpNet::V6(net) => (
            Family::V6,
            8,
            net.network().octets().to_vec(),
            net.netmask().octets().to_vec(),
        ),
    };
    let length = if family == Family::V4 { 4 } else { 16 };
    let mut expressions = of_family(table, family);
    expressions.push(load(NETWORK_HEADER, offset, length));
    if net.prefix_len() < net.max_prefix_len() {
        expressions.push(masked(length, &mask));
    }
    expressions.push(equals(&address));
    expressions
}

fn tcp(field: &Field, port: u16) -> Vec<Expression> {
    vec![
        meta(META_L4PROTO),
        equals(&[TCP]),
        load(TRANSPORT_HEADER, field.offset, 2),
        equals(&port.to_be_bytes()),
    ]
}

fn too_big(table: TableFamily, family: Family, port: u16) -> Vec<Expression> {
    let quote = quote(family);
    let mut expressions = of_family(table, family);
    expressions.extend([
        meta(META_L4PROTO),
        equals(&[quote.protocol]),
        load(TRANSPORT_HEADER, 0, 1),
        equals(&[quote.error]),
        load(TRANSPORT_HEADER, quote.quoted_protocol, 1),
        equals(&[TCP]),
        load(TRANSPORT_HEADER, quote.source.offset, 2),
        equals(&port.to_be_bytes()),
    ]);
    expressions
}

fn quote(family: Family) -> Quote {
    match family {
        Family::V4 => QUOTE_V4,
        Family::V6 => QUOTE_V6,
    }
}

fn act(action: &Action) -> Vec<Expression> {
    match action {
        Action::Drop => vec![verdict(DROP, None)],
        Action::Return => vec![verdict(RETURN, None)],
        Action::Jump(chain) => vec![verdict(JUMP, Some(chain))],
        Action::SetTcpSource(port) => write_port(&TCP_SOURCE, *port),
        Action::SetTcpDestination(port) => write_port(&TCP_DESTINATION, *port),
        Action::SetQuotedSource(family, port) => write_port(&quote(*family).source, *port),
    }
}

/// A name fills the register: sixteen bytes, zeros at the end.
fn interface(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(libc::IFNAMSIZ, 0);
    bytes
}

fn expression(name: &str, data: Vec<Attribute>) -> Expression {
    vec![Attribute::string(NAME, name), Attribute::Nest(DATA, data)]
}

fn value(kind: u16, bytes: &[u8]) -> Attribute {
    Attribute::Nest(kind, vec![Attribute::Value(1, bytes.to_vec())])
}

fn meta(key: u32) -> Expression {
    expression(
        "meta",
        vec![Attribute::be32(2, key), Attribute::be32(1, REGISTER)],
    )
}

fn equals(bytes: &[u8]) -> Expression {
    const EQUAL: u32 = 0;
    let operands = vec![
        Attribute::be32(1, REGISTER),
        Attribute::be32(2, EQUAL),
        value(3, bytes),
    ];
    expression("cmp", operands)
}

fn load(base: u32, offset: u32, length: u32) -> Expression {
    let place = vec![
        Attribute::be32(1, REGISTER),
        Attribute::be32(2, base),
        Attribute::be32(3, offset),
        Attribute::be32(4, length),
    ];
    expression("payload", place)
}

fn masked(length: u32, mask: &[u8]) -> Expression {
    let operands = vec![
        Attribute::be32(1, REGISTER),
        Attribute::be32(2, REGISTER),
        Attribute::be32(3, length),
        value(4, mask),
        value(5, &vec![0; mask.len()]),
    ];
    expression("bitwise", operands)
}

/// Writes a port. The kernel corrects the checksum, also of a packet whose checksum the device is
/// to fill in.
fn write_port(field: &Field, port: u16) -> Vec<Expression> {
    const INTERNET_CHECKSUM: u32 = 1;
    let set = vec![Attribute::be32(1, REGISTER), value(2, &port.to_be_bytes())];
    let write = vec![
        Attribute::be32(5, REGISTER),
        Attribute::be32(2, TRANSPORT_HEADER),
        Attribute::be32(3, field.offset),
        Attribute::be32(4, 2),
        Attribute::be32(6, INTERNET_CHECKSUM),
        Attribute::be32(7, field.checksum),
        Attribute::be32(8, 0),
    ];
    vec![expression("immediate", set), expression("payload", write)]
}

fn verdict(code: i32, chain: Option<&str>) -> Expression {
    let mut verdict = vec![Attribute::Value(1, code.to_be_bytes().to_vec())];
    verdict.extend(chain.map(|chain| Attribute::string(2, chain)));
    let data = Attribute::Nest(2, vec![Attribute::Nest(2, verdict)]);
    expression(
        "immediate",
        vec![Attribute::be32(1, VERDICT_REGISTER), data],
    )
}
