//! A table of our name as the kernel lists it, and how it differs from the plan's.

use super::super::attribute::{parse, string};
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

#[derive(Debug, Clone, Default)]
struct FoundChain {
    name: String,
    /// Number, priority, policy, devices.
    hook: Option<(u32, u32, u32, Vec<String>)>,
    /// The attributes of each rule.
    rules: Vec<Vec<u8>>,
}

/// `struct nfgenmsg` stands before the attributes.
const HEADER: usize = 4;

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
    fn read(body: &[u8]) -> Self {
        let attributes = parse(body.get(HEADER..).unwrap_or_default());
        let find = |kind| {
            attributes
                .iter()
                .find(|(other, _)| *other == kind)
                .map(|(_, v)| *v)
        };
        let policy = find(CHAIN_POLICY).and_then(be32).unwrap_or_default();
        let hook = find(CHAIN_HOOK).map(|hook| {
            let attributes = parse(hook);
            let find = |kind| {
                attributes
                    .iter()
                    .find(|(other, _)| *other == kind)
                    .map(|(_, v)| *v)
            };
            let number = find(HOOK_NUMBER).and_then(be32).unwrap_or_default();
            let priority = find(HOOK_PRIORITY).and_then(be32).unwrap_or_default();
            (
                number,
                priority,
                policy,
                devices(find(HOOK_DEVICES), find(HOOK_DEVICE)),
            )
        });
        let name = find(CHAIN_NAME).map(string).unwrap_or_default();
        Self {
            name,
            hook,
            rules: Vec::new(),
        }
    }

    fn gaps(&self, chain: &Chain, table: &Table) -> Vec<String> {
        if self.hook != chain.hook.as_ref().map(wanted) {
            return vec![format!("nft chain \"{}\" hangs elsewhere", chain.name)];
        }
        let mut gaps = Vec::new();
        for statement in &chain.statements {
            let wanted = expression::all(table.family, statement);
            let same =
                |rule: &&Vec<u8>| wanted.is_in(&parse(rule.get(HEADER..).unwrap_or_default()));
            if self.rules.iter().find(same).is_none() {
                let text = table.text_of(statement);
                gaps.push(format!(
                    "nft rule \"{text}\" in chain \"{}\" is missing",
                    chain.name
                ));
            }
        }
        if gaps.is_empty() && !self.is_in_order(chain, table) {
            gaps.push(format!(
                "nft chain \"{}\" has other rules than ours",
                chain.name
            ));
        }
        gaps
    }

    fn is_in_order(&self, chain: &Chain, table: &Table) -> bool {
        let wanted = chain
            .statements
            .iter()
            .map(|s| expression::all(table.family, s));
        let same = |(wanted, rule): (_, &Vec<u8>)| {
            let wanted: super::super::attribute::Attribute = wanted;
            wanted.is_in(&parse(rule.get(HEADER..).unwrap_or_default()))
        };
        self.rules.len() == chain.statements.len() && wanted.zip(&self.rules).all(same)
    }
}

fn wanted(hook: &Hook) -> (u32, u32, u32, Vec<String>) {
    let mut devices = hook.devices.clone();
    devices.sort();
    (
        number(hook.point),
        hook.priority.cast_unsigned(),
        ACCEPT,
        devices,
    )
}

/// One device may be listed in both ways.
fn devices(several: Option<&[u8]>, one: Option<&[u8]>) -> Vec<String> {
    let several = several
        .map(parse)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, name)| name);
    let mut names: Vec<_> = several.chain(one).map(string).collect();
    names.sort();
    names.dedup();
    names
}

fn text(body: &[u8], kind: u16) -> Option<String> {
    let attributes = parse(body.get(HEADER..)?);
    attributes
        .iter()
        .find(|(other, _)| *other == kind)
        .map(|(_, value)| string(value))
}

fn be32(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
