//! Our nf_tables table in the kernel: written in one atomic batch, read back, compared.
//!
//! The numbers are of `linux/netfilter/nf_tables.h` and `nfnetlink.h`. Everything is in network
//! order. `nft --debug=netlink` prints the same expressions for the same text.

mod expression;
mod found;

use libc::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE};
use netlink_sys::protocols::NETLINK_NETFILTER;
use nix::errno::Errno;

pub(super) use self::found::Found;

use super::attribute::{Attribute, body};
use super::socket::{Message, Netlink, Refused};
use super::table::{Chain, FAMILIES, Hook, HookPoint, NAME, Statement, Table, TableFamily};

/// `NFNL_SUBSYS_NFTABLES`.
const SUBSYSTEM: u8 = 10;
/// `NFNL_MSG_BATCH_BEGIN` and `NFNL_MSG_BATCH_END`.
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;

const NEWTABLE: u16 = 0;
const GETTABLE: u16 = 1;
const DELTABLE: u16 = 2;
const NEWCHAIN: u16 = 3;
const GETCHAIN: u16 = 4;
const NEWRULE: u16 = 6;
const GETRULE: u16 = 7;

const TABLE_NAME: u16 = 1;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const HOOK_DEVICE: u16 = 3;
const HOOK_DEVICES: u16 = 4;
const DEVICE_NAME: u16 = 1;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const ACCEPT: u32 = 1;

/// The nf_tables of one namespace.
pub(super) struct Tables {
    netlink: Netlink,
}

impl Tables {
    /// For the calling thread's namespace.
    pub(super) fn open() -> Result<Self, Refused> {
        Ok(Self {
            netlink: Netlink::open(NETLINK_NETFILTER)?,
        })
    }

    /// The tables of our name.
    pub(super) fn read(&mut self) -> Result<Vec<Found>, Refused> {
        let mut tables = Vec::new();
        for family in FAMILIES {
            let chains = self.list(family, GETCHAIN, NEWCHAIN)?;
            let rules = self.list(family, GETRULE, NEWRULE)?;
            let named = self.list(family, GETTABLE, NEWTABLE)?;
            tables.extend(Found::read(family, &named, &chains, &rules));
        }
        Ok(tables)
    }

    /// Replaces the table of this name and family at once: no packet meets half of it.
    pub(super) fn put(&mut self, table: &Table) -> Result<(), Refused> {
        let batch = [vec![mark(BEGIN)], replace(table), vec![mark(END)]].concat();
        self.netlink.send(&batch)
    }

    /// Removes the table of our name; one that is gone already is fine.
    pub(super) fn delete(&mut self, family: TableFamily) -> Result<(), Refused> {
        let delete = about_table(family, DELTABLE, 0);
        match self.netlink.send(&[mark(BEGIN), delete, mark(END)]) {
            Err(refused) if refused.errno == Errno::ENOENT => Ok(()),
            answer => answer,
        }
    }

    /// Why this kernel would not take the table, if so. A batch without its end is checked, then
    /// dropped (`nfnetlink_rcv_batch`), as `nft --check` does.
    pub(super) fn would_refuse(&mut self, table: &Table) -> Result<Option<Refused>, Refused> {
        let batch = [vec![mark(BEGIN)], replace(table)].concat();
        match self.netlink.send(&batch) {
            Ok(()) => Ok(None),
            Err(refused) if is_unsupported(refused.errno) => Ok(Some(refused)),
            Err(refused) => Err(refused),
        }
    }

    /// The attributes of every table, chain or rule of a family.
    fn list(
        &mut self,
        family: TableFamily,
        ask: u16,
        answer: u16,
    ) -> Result<Vec<Vec<u8>>, Refused> {
        let table = [Attribute::string(RULE_TABLE, NAME)];
        // Only the list of rules knows this filter; the others give all tables.
        let filter = if ask == GETRULE { &table[..] } else { &[] };
        let body = body(&header(family), filter);
        let request = Message {
            kind: kind(ask),
            flags: 0,
            body,
        };
        let bodies = match self.netlink.dump(&request, kind(answer)) {
            Err(refused) if refused.errno == Errno::ENOENT => Vec::new(),
            bodies => bodies?,
        };
        let attributes = |body: &Vec<u8>| body.get(HEADER..).unwrap_or_default().to_vec();
        Ok(bodies.iter().map(attributes).collect())
    }
}

/// The errors of a kernel built without a family, a hook or an expression.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::EOPNOTSUPP
            | Errno::EAFNOSUPPORT
            | Errno::EPROTONOSUPPORT
            | Errno::ENOENT
            | Errno::EINVAL
    )
}

fn mark(kind: u16) -> Message {
    // Family, version, and the subsystem the batch is for.
    Message {
        kind,
        flags: 0,
        body: vec![0, 0, 0, SUBSYSTEM],
    }
}

/// Making the table first lets its removal succeed whether it was there or not.
fn replace(table: &Table) -> Vec<Message> {
    let family = table.family;
    let mut messages = vec![
        about_table(family, NEWTABLE, NLM_F_CREATE),
        about_table(family, DELTABLE, 0),
        about_table(family, NEWTABLE, NLM_F_CREATE),
    ];
    messages.extend(table.chains.iter().map(|chain| new_chain(family, chain)));
    for chain in &table.chains {
        let rules = chain.statements.iter();
        messages.extend(rules.map(|statement| new_rule(family, chain.name, statement)));
    }
    messages
}

fn about_table(family: TableFamily, ask: u16, flags: i32) -> Message {
    let attributes = [Attribute::string(TABLE_NAME, NAME)];
    message(family, ask, flags, &attributes)
}

fn new_chain(family: TableFamily, chain: &Chain) -> Message {
    let mut attributes = vec![
        Attribute::string(CHAIN_TABLE, NAME),
        Attribute::string(CHAIN_NAME, chain.name),
    ];
    if let Some(hook) = &chain.hook {
        attributes.push(Attribute::Nest(CHAIN_HOOK, hook_attributes(hook)));
        attributes.push(Attribute::string(CHAIN_TYPE, "filter"));
        attributes.push(Attribute::be32(CHAIN_POLICY, ACCEPT));
    }
    message(family, NEWCHAIN, NLM_F_CREATE, &attributes)
}

fn hook_attributes(hook: &Hook) -> Vec<Attribute> {
    let mut attributes = vec![
        Attribute::be32(HOOK_NUMBER, number(hook.point)),
        Attribute::Value(HOOK_PRIORITY, hook.priority.to_be_bytes().to_vec()),
    ];
    match hook.devices.as_slice() {
        [] => {}
        // A list of devices is known since Linux 5.5, one device for longer.
        [device] => attributes.push(Attribute::string(HOOK_DEVICE, device)),
        several => {
            let names = several
                .iter()
                .map(|name| Attribute::string(DEVICE_NAME, name));
            attributes.push(Attribute::Nest(HOOK_DEVICES, names.collect()));
        }
    }
    attributes
}

fn new_rule(family: TableFamily, chain: &str, statement: &Statement) -> Message {
    let attributes = [
        Attribute::string(RULE_TABLE, NAME),
        Attribute::string(RULE_CHAIN, chain),
        expression::all(family, statement),
    ];
    message(family, NEWRULE, NLM_F_CREATE | NLM_F_APPEND, &attributes)
}

fn message(family: TableFamily, ask: u16, flags: i32, attributes: &[Attribute]) -> Message {
    let body = body(&header(family), attributes);
    Message {
        kind: kind(ask),
        flags: flags | NLM_F_ACK,
        body,
    }
}

fn kind(ask: u16) -> u16 {
    u16::from(SUBSYSTEM) << 8 | ask
}

/// Bytes of `struct nfgenmsg`, which stands before the attributes.
const HEADER: usize = 4;

/// `NFPROTO_NETDEV` or `NFPROTO_INET`, version 0, no resource.
fn header(family: TableFamily) -> [u8; HEADER] {
    match family {
        TableFamily::Netdev => [5, 0, 0, 0],
        TableFamily::Inet => [1, 0, 0, 0],
    }
}

/// `NF_NETDEV_*` or `NF_INET_*`.
fn number(point: HookPoint) -> u32 {
    match point {
        HookPoint::Ingress | HookPoint::Prerouting => 0,
        HookPoint::Egress => 1,
        HookPoint::Output => 3,
        HookPoint::Postrouting => 4,
    }
}
