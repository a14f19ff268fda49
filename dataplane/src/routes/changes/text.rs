//! A step in words: as a command, as done, as tried.

use std::fmt;

use super::super::rule::{Route, Rule};
use super::super::table::NAME;
use super::Change;

impl Change {
    /// What was done, for the report.
    pub(in crate::routes) fn done(&self) -> String {
        match self {
            Self::PutTable(_) => format!("wrote {}", self.object()),
            Self::AddRule(_) | Self::AddRoute(_) => format!("added {}", self.object()),
            Self::DeleteTable(_) | Self::DeleteRule(_) | Self::DeleteRoute(_) => {
                format!("removed {}", self.object())
            }
        }
    }

    /// What was tried, for "could not …".
    pub(in crate::routes) fn tried(&self) -> String {
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
