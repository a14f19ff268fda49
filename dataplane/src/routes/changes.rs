//! From what must exist and what exists to the steps between: pure, no kernel.

mod text;

use super::Impossible;
use super::nft::Found;
use super::plan::Plan;
use super::rule::{LOCAL_TABLE, OURS, Route, Rule};
use super::table::{NAME, Table, TableFamily};

/// What a namespace has.
#[derive(Debug, Default)]
pub(super) struct Existing {
    /// Every rule of both families, in order.
    pub rules: Vec<Rule>,
    /// Every route that makes all addresses local.
    pub routes: Vec<Route>,
    /// The tables of our name.
    pub tables: Vec<Found>,
}

/// One step. Its text is the command a person would type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Replaces the whole table at once.
    PutTable(Table),
    /// Removes the table of our name.
    DeleteTable(TableFamily),
    /// Adds a rule.
    AddRule(Rule),
    /// Removes a rule.
    DeleteRule(Rule),
    /// Adds a route.
    AddRoute(Route),
    /// Removes a route.
    DeleteRoute(Route),
}

/// The steps that make `plan` true. None when it is true already.
pub(super) fn to_apply(plan: &Plan, existing: &Existing) -> Result<Vec<Change>, Impossible> {
    refuse_strangers(plan, existing)?;
    let mut changes = to_undo(&stale(plan, existing), Some(plan));
    changes.extend(table_to_put(plan, existing));
    let rules = lacking(&existing.rules, &plan.rules);
    let mut rules: Vec<_> = rules.cloned().map(Change::AddRule).collect();
    if let Some(kernels) = still_there(plan, existing) {
        // It goes once its substitute, the plan's first rule, stands.
        let substitute = plan.rules.first();
        let is_added_first = substitute.is_some_and(|rule| !existing.rules.contains(rule));
        rules.insert(
            usize::from(is_added_first),
            Change::DeleteRule(kernels.clone()),
        );
    }
    changes.extend(rules);
    let routes = lacking(&existing.routes, &plan.routes);
    changes.extend(routes.cloned().map(Change::AddRoute));
    Ok(changes)
}

/// Those of `wanted` that `found` lacks.
fn lacking<'a, T: PartialEq>(found: &'a [T], wanted: &'a [T]) -> impl Iterator<Item = &'a T> {
    wanted.iter().filter(|one| !found.contains(one))
}

/// The kernel's rule, when the plan does without it.
fn still_there<'a>(plan: &'a Plan, existing: &Existing) -> Option<&'a Rule> {
    let kernels = plan.without.as_ref();
    kernels.filter(|rule| existing.rules.contains(rule))
}

fn table_to_put(plan: &Plan, existing: &Existing) -> Option<Change> {
    let table = plan.table.as_ref()?;
    let is_same = found(table, existing).is_some_and(|found| found.gaps(table).is_empty());
    (!is_same).then(|| Change::PutTable(table.clone()))
}

fn found<'a>(table: &Table, existing: &'a Existing) -> Option<&'a Found> {
    let mut tables = existing.tables.iter();
    tables.find(|found| found.family == table.family)
}

/// The steps that take away what is ours, in the order that never cuts the namespace off: routes,
/// rules, the kernel's own rule back, then the rule that stood in for it. With `keep`, the
/// kernel's rule stays away when that plan wants it so.
pub(super) fn to_undo(existing: &Existing, keep: Option<&Plan>) -> Vec<Change> {
    let routes = existing
        .routes
        .iter()
        .filter(|route| route.protocol == OURS);
    let routes = routes.rev().cloned();
    let mut changes: Vec<_> = routes.map(Change::DeleteRoute).collect();
    let rules = existing.rules.iter().filter(|rule| rule.protocol == OURS);
    let (stand_ins, others): (Vec<_>, Vec<_>) = rules.rev().cloned().partition(stands_in);
    changes.extend(others.into_iter().map(Change::DeleteRule));
    let kernels = Rule::kernels_own();
    let wanted = keep.is_none_or(|plan| plan.without.is_none());
    if wanted && !stand_ins.is_empty() && !existing.rules.contains(&kernels) {
        changes.push(Change::AddRule(kernels));
    }
    changes.extend(stand_ins.into_iter().map(Change::DeleteRule));
    let tables = existing.tables.iter().map(|found| found.family);
    changes.extend(tables.map(Change::DeleteTable));
    changes
}

/// Our substitute for the kernel's rule 0.
fn stands_in(rule: &Rule) -> bool {
    rule.pref == 0 && rule.lookup == LOCAL_TABLE
}

/// What is ours and not part of the plan: of an earlier run with other settings.
fn stale(plan: &Plan, existing: &Existing) -> Existing {
    let family = plan.table.as_ref().map(|table| table.family);
    let tables = existing
        .tables
        .iter()
        .filter(|found| Some(found.family) != family);
    Existing {
        rules: lacking(&plan.rules, &existing.rules).cloned().collect(),
        routes: lacking(&plan.routes, &existing.routes).cloned().collect(),
        tables: tables.cloned().collect(),
    }
}

/// With a route to everywhere in the local table, a rule of someone else that asks this table for
/// any packet would cut the namespace off; and ours cannot be first behind another rule 0.
fn refuse_strangers(plan: &Plan, existing: &Existing) -> Result<(), Impossible> {
    let Some(kernels) = &plan.without else {
        return Ok(());
    };
    let strangers = existing
        .rules
        .iter()
        .filter(|rule| rule.family == kernels.family && rule.protocol != OURS && *rule != kernels);
    for rule in strangers {
        let asks_local = rule.lookup == LOCAL_TABLE && rule.suppress_prefixlength.is_none();
        if rule.pref == 0 || asks_local {
            let rule = format!("{}: {rule}", rule.pref);
            return Err(Impossible::StrangeRule(rule));
        }
    }
    Ok(())
}

/// What the plan wants and the namespace lacks, one sentence each.
pub(super) fn gaps(plan: &Plan, existing: &Existing) -> Vec<String> {
    let mut gaps = Vec::new();
    let rules = lacking(&existing.rules, &plan.rules);
    gaps.extend(rules.map(|rule| format!("rule \"{rule}\" is missing")));
    if let Some(kernels) = still_there(plan, existing) {
        gaps.push(format!("the kernel's rule \"{kernels}\" is still there"));
    }
    let routes = lacking(&existing.routes, &plan.routes);
    gaps.extend(routes.map(|route| format!("route \"{route}\" is missing")));
    if let Some(table) = &plan.table {
        match found(table, existing) {
            None => gaps.push(format!("nft table \"{} {NAME}\" is missing", table.family)),
            Some(found) => gaps.extend(found.gaps(table)),
        }
    }
    gaps
}

#[cfg(test)]
mod tests;
