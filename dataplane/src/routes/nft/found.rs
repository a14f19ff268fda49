//! A table of our name as the kernel lists it, and how it differs from the plan's.

use super::super::attribute::{Attribute, find, parse, string};
use super::super::table::{Chain, Hook, NAME, Table, TableFamily};
use super::{
    ACCEPT, CHAIN_HOOK, CHAIN_NAME, CHAIN_POLICY, CHAIN_TABLE, HOOK_DEVICE, HOOK_DEVICES,
    HOOK_NUMBER, HOOK_PRIORITY, RULE_CHAIN, RULE_TABLE, TABLE_NAME, expression, number,
};

/// A table of our name.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Where it hangs.
    pub family: TableFamily,
    chains: Vec<FoundChain>,
}

#[derive(Debug, Clone)]
struct FoundChain {
    name: String,
    hook: Option<FoundHook>,
    /// The attributes of each rule.
    rules: Vec<Vec<u8>>,
}

/// A hook and what happens to a packet no rule decides about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundHook {
    number: u32,
    priority: i32,
    policy: u32,
    /// Sorted: the kernel's order is not the plan's.
    devices: Vec<String>,
}

impl Found {
    /// From the kernel's lists of tables, chains and rules of one family.
    pub(super) fn read(
        family: TableFamily,
        tables: &[Vec<u8>],
        chains: &[Vec<u8>],
        rules: &[Vec<u8>],
    ) -> Option<Self> {
        let ours = |body: &Vec<u8>, kind| text(body, kind).is_some_and(|name| name == NAME);
        tables.iter().find(|body| ours(body, TABLE_NAME))?;
        let chains = chains.iter().filter(|body| ours(body, CHAIN_TABLE));
        let mut chains: Vec<_> = chains.map(|body| FoundChain::read(body)).collect();
        for body in rules.iter().filter(|body| ours(body, RULE_TABLE)) {
            let name = text(body, RULE_CHAIN).unwrap_or_default();
            if let Some(chain) = chains.iter_mut().find(|chain| chain.name == name) {
                chain.rules.push(body.clone());
            }
        }
        Some(Self { family, chains })
    }

    /// What the plan's table has and this one lacks, one sentence each.
    pub(crate) fn gaps(&self, table: &Table) -> Vec<String> {
        let mut gaps = Vec::new();
        for chain in &table.chains {
            match self.chains.iter().find(|found| found.name == chain.name) {
                None => gaps.push(format!("nft chain \"{}\" is missing", chain.name)),
                Some(found) => gaps.extend(found.gaps(chain, table)),
            }
        }
        let known = |name: &str| table.chains.iter().any(|chain| chain.name == name);
        let more = self.chains.iter().filter(|found| !known(&found.name));
        gaps.extend(more.map(|found| format!("nft chain \"{}\" is not ours", found.name)));
        gaps
    }
}

impl FoundChain {
    fn read(attributes: &[u8]) -> Self {
        let attributes = parse(attributes);
        let hook = find(&attributes, CHAIN_HOOK);
        let policy = find(&attributes, CHAIN_POLICY)
            .map(be32)
            .unwrap_or_default();
        Self {
            name: find(&attributes, CHAIN_NAME)
                .map(string)
                .unwrap_or_default(),
            hook: hook.map(|hook| FoundHook::read(hook, policy)),
            rules: Vec::new(),
        }
    }

    fn gaps(&self, chain: &Chain, table: &Table) -> Vec<String> {
        let name = chain.name;
        if self.hook != chain.hook.as_ref().map(FoundHook::from) {
            return vec![format!("nft chain \"{name}\" hangs elsewhere")];
        }
        let wanted = chain
            .statements
            .iter()
            .map(|one| expression::all(table.family, one));
        let wanted: Vec<_> = wanted.collect();
        let mut gaps = Vec::new();
        for (statement, wanted) in chain.statements.iter().zip(&wanted) {
            if !self.rules.iter().any(|rule| is_same(wanted, rule)) {
                let text = table.text_of(statement);
                gaps.push(format!(
                    "nft rule \"{text}\" in chain \"{name}\" is missing"
                ));
            }
        }
        let mut pairs = wanted.iter().zip(&self.rules);
        let is_equal = self.rules.len() == wanted.len() && pairs.all(|(w, rule)| is_same(w, rule));
        if gaps.is_empty() && !is_equal {
            gaps.push(format!("nft chain \"{name}\" has other rules than ours"));
        }
        gaps
    }
}

fn is_same(wanted: &Attribute, rule: &[u8]) -> bool {
    wanted.is_in(&parse(rule))
}

impl FoundHook {
    fn read(attributes: &[u8], policy: u32) -> Self {
        let attributes = parse(attributes);
        let number = |kind| find(&attributes, kind).map(be32).unwrap_or_default();
        let several = find(&attributes, HOOK_DEVICES)
            .map(parse)
            .unwrap_or_default();
        // A single device is listed in both ways.
        let names = several.into_iter().map(|(_, name)| name);
        let names = names.chain(find(&attributes, HOOK_DEVICE));
        let mut devices: Vec<_> = names.map(string).collect();
        devices.sort();
        devices.dedup();
        Self {
            number: number(HOOK_NUMBER),
            priority: number(HOOK_PRIORITY).cast_signed(),
            policy,
            devices,
        }
    }
}

impl From<&Hook> for FoundHook {
    fn from(hook: &Hook) -> Self {
        let mut devices = hook.devices.clone();
        devices.sort();
        Self {
            number: number(hook.point),
            priority: hook.priority,
            policy: ACCEPT,
            devices,
        }
    }
}

fn text(attributes: &[u8], kind: u16) -> Option<String> {
    find(&parse(attributes), kind).map(string)
}

fn be32(value: &[u8]) -> u32 {
    value
        .first_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
