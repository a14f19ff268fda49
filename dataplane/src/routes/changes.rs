//! From what must exist and what exists to the steps between: pure, no kernel.

use std::fmt;

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
    let mut missing = plan
        .rules
        .iter()
        .filter(|rule| !existing.rules.contains(rule));
    // The kernel's rule goes once its substitute, our first rule, stands.
    if let Some(kernels) = plan
        .without
        .as_ref()
        .filter(|rule| existing.rules.contains(rule))
    {
        let substitute = plan
            .rules
            .first()
            .filter(|rule| !existing.rules.contains(rule));
        changes.extend(
            substitute
                .and_then(|_| missing.next())
                .cloned()
                .map(Change::AddRule),
        );
        changes.push(Change::DeleteRule(kernels.clone()));
    }
    changes.extend(missing.cloned().map(Change::AddRule));
    let routes = plan
        .routes
        .iter()
        .filter(|route| !existing.routes.contains(route));
    changes.extend(routes.cloned().map(Change::AddRoute));
    Ok(changes)
}

fn table_to_put(plan: &Plan, existing: &Existing) -> Option<Change> {
    let table = plan.table.as_ref()?;
    let found = existing
        .tables
        .iter()
        .find(|found| found.family == table.family);
    let same = found.is_some_and(|found| found.gaps(table).is_empty());
    (!same).then(|| Change::PutTable(table.clone()))
}

/// The steps that take away what is ours, in the order that never cuts the namespace off: routes,
/// rules, the kernel's own rule back, then the rule that stood in for it. With `keep`, the
/// kernel's rule stays away when that plan wants it so.
pub(super) fn to_undo(existing: &Existing, keep: Option<&Plan>) -> Vec<Change> {
    let ours = |protocol: u8| protocol == OURS;
    let routes = existing
        .routes
        .iter()
        .rev()
        .filter(|route| ours(route.protocol));
    let mut changes: Vec<_> = routes.cloned().map(Change::DeleteRoute).collect();
    let rules = existing
        .rules
        .iter()
        .rev()
        .filter(|rule| ours(rule.protocol));
    let (stand_ins, others): (Vec<_>, Vec<_>) = rules.cloned().partition(stands_in);
    changes.extend(others.into_iter().map(Change::DeleteRule));
    let kernels = Rule::kernels_own();
    let wanted = keep.is_none_or(|plan| plan.without.is_none());
    if wanted && !stand_ins.is_empty() && !existing.rules.contains(&kernels) {
        changes.push(Change::AddRule(kernels));
    }
    changes.extend(stand_ins.into_iter().map(Change::DeleteRule));
    changes.extend(
        existing
            .tables
            .iter()
            .map(|found| Change::DeleteTable(found.family)),
    );
    changes
}

/// Our substitute for the kernel's rule 0.
fn stands_in(rule: &Rule) -> bool {
    rule.pref == 0 && rule.lookup == LOCAL_TABLE
}

/// What is ours and not part of the plan: of an earlier run with other settings.
fn stale(plan: &Plan, existing: &Existing) -> Existing {
    let rules = existing
        .rules
        .iter()
        .filter(|rule| !plan.rules.contains(rule));
    let routes = existing
        .routes
        .iter()
        .filter(|route| !plan.routes.contains(route));
    let family = plan.table.as_ref().map(|table| table.family);
    let tables = existing
        .tables
        .iter()
        .filter(|found| Some(found.family) != family);
    Existing {
        rules: rules.cloned().collect(),
        routes: routes.cloned().collect(),
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
    let rules = plan
        .rules
        .iter()
        .filter(|rule| !existing.rules.contains(rule));
    gaps.extend(rules.map(|rule| format!("rule \"{rule}\" is missing")));
    if let Some(kernels) = plan
        .without
        .as_ref()
        .filter(|rule| existing.rules.contains(rule))
    {
        gaps.push(format!("the kernel's rule \"{kernels}\" is still there"));
    }
    let routes = plan
        .routes
        .iter()
        .filter(|route| !existing.routes.contains(route));
    gaps.extend(routes.map(|route| format!("route \"{route}\" is missing")));
    if let Some(table) = &plan.table {
        match existing
            .tables
            .iter()
            .find(|found| found.family == table.family)
        {
            None => gaps.push(format!("nft table \"{} {NAME}\" is missing", table.family)),
            Some(found) => gaps.extend(found.gaps(table)),
        }
    }
    gaps
}

impl Change {
    /// What was done, for the report.
    pub(super) fn done(&self) -> String {
        match self {
            Self::PutTable(_) => format!("wrote {}", self.object()),
            Self::AddRule(_) | Self::AddRoute(_) => format!("added {}", self.object()),
            Self::DeleteTable(_) | Self::DeleteRule(_) | Self::DeleteRoute(_) => {
                format!("removed {}", self.object())
            }
        }
    }

    /// What was tried, for "could not …".
    pub(super) fn tried(&self) -> String {
        match self {
            Self::PutTable(_) => format!("write {}", self.object()),
            Self::AddRule(_) | Self::AddRoute(_) => format!("add {}", self.object()),
            Self::DeleteTable(_) | Self::DeleteRule(_) | Self::DeleteRoute(_) => {
                format!("remove {}", self.object())
            }
        }
    }

    fn object(&self) -> String {
        match self {
            Self::PutTable(table) => format!("nft table \"{} {NAME}\"", table.family),
            Self::DeleteTable(family) => format!("nft table \"{family} {NAME}\""),
            Self::AddRule(rule) | Self::DeleteRule(rule) => format!("rule \"{rule}\""),
            Self::AddRoute(route) | Self::DeleteRoute(route) => format!("route \"{route}\""),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutTable(table) => {
                let family = table.family;
                if table.is_beyond_nft() {
                    writeln!(
                        f,
                        "# nft leaves the ICMP checksum as it was, init corrects it"
                    )?;
                }
                writeln!(f, "nft -f - <<'END'")?;
                writeln!(f, "add table {family} {NAME}\ndelete table {family} {NAME}")?;
                write!(f, "{table}\nEND")
            }
            Self::DeleteTable(family) => write!(f, "nft delete table {family} {NAME}"),
            Self::AddRule(rule) => write_rule(f, "add", rule),
            Self::DeleteRule(rule) => write_rule(f, "del", rule),
            Self::AddRoute(route) => write_route(f, "add", route),
            Self::DeleteRoute(route) => write_route(f, "del", route),
        }
    }
}

fn write_rule(f: &mut fmt::Formatter<'_>, verb: &str, rule: &Rule) -> fmt::Result {
    let Rule {
        family,
        pref,
        protocol,
        ..
    } = rule;
    write!(
        f,
        "{} rule {verb} pref {pref} {rule} protocol {protocol}",
        family.ip()
    )
}

fn write_route(f: &mut fmt::Formatter<'_>, verb: &str, route: &Route) -> fmt::Result {
    let Route {
        family, protocol, ..
    } = route;
    write!(
        f,
        "{} route {verb} {route} protocol {protocol}",
        family.ip()
    )
}
