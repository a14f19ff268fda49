//! What must exist in a namespace, from what it has: pure, no kernel.
//!
//! The source check of `connect()` reads the *local* table directly, without rules
//! (`__ip_dev_find`). A route to everywhere in that table therefore lets any process use any IPv4
//! source; a rule that hides this route keeps it from every ordinary look-up. IPv6 has
//! `IPV6_FREEBIND` for the source and needs only the way back.

mod steering;

use std::fmt;
use std::str::FromStr;

use super::Impossible;
use super::interfaces::Interface;
use super::rule::{Family, LOCAL_TABLE, OUR_TABLE, Route, Rule};
use super::table::{Table, TableFamily};

/// How the sidecar's dialling socket may carry a client's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum SourceMode {
    /// Every address is local: the sidecar needs no capability
    #[default]
    Routed,
    /// The classic recipe: the sidecar sets IP_TRANSPARENT and needs NET_RAW
    Transparent,
}

impl SourceMode {
    /// Its name in logs, metrics and `--source-mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Routed => "routed",
            Self::Transparent => "transparent",
        }
    }
}

/// A port peers dial, and the sidecar's own port that takes the connections instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redirect {
    /// What peers dial; inside the pod it stays the app's.
    pub port: u16,
    /// What the sidecar listens on; from outside it cannot be reached.
    pub listen: u16,
}

/// What a plan is made of.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// Ports that go to the sidecar.
    pub redirects: &'a [Redirect],
    /// Which table carries redirects and guard; None leaves nf_tables alone.
    pub table: Option<TableFamily>,
    /// How sources are lent.
    pub source_mode: SourceMode,
    /// Every interface of the namespace.
    pub interfaces: &'a [Interface],
    /// The names to steer and guard, in order.
    pub devices: &'a [String],
}

/// What must exist, each list in the order it is made: table, rules, routes.
///
/// The table is first, so that no foreign source leaves while routes allow it; the rule that hides
/// the route to everywhere is there before the route, or the namespace is cut off for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// Redirects and guard.
    pub table: Option<Table>,
    /// A rule that the kernel made and that must make way for one of `rules`.
    pub without: Option<Rule>,
    /// Which tables are asked.
    pub rules: Vec<Rule>,
    /// Which addresses are ours.
    pub routes: Vec<Route>,
}

impl Plan {
    /// The families a client's address can be lent in.
    pub(super) fn families(&self) -> Vec<Family> {
        self.routes.iter().map(|route| route.family).collect()
    }
}

/// The plan for a namespace, or why there is none.
pub(super) fn plan(request: &Request<'_>) -> Result<Plan, Impossible> {
    check_ports(request.redirects)?;
    let families = families_on_loopback(request.interfaces);
    if families.is_empty() {
        return Err(Impossible::NoLoopback);
    }
    let routed_v4 = request.source_mode == SourceMode::Routed && families.contains(&Family::V4);
    let sources = families.iter().map(|&family| source(family, routed_v4));
    let (rules, routes): (Vec<_>, Vec<_>) = sources.unzip();
    Ok(Plan {
        table: request.table.map(|family| steering::table(family, request)),
        without: routed_v4.then(Rule::kernels_own),
        rules: rules.into_iter().flatten().collect(),
        routes,
    })
}

/// A sidecar's port must not be dialled by anyone and a rewritten packet must not match again.
fn check_ports(redirects: &[Redirect]) -> Result<(), Impossible> {
    for (at, redirect) in redirects.iter().enumerate() {
        let Redirect { port, listen } = *redirect;
        let before = &redirects[..at];
        if before
            .iter()
            .any(|other| other.port == port || other.listen == listen)
        {
            return Err(Impossible::PortTwice { port, listen });
        }
        if redirects.iter().any(|other| other.port == listen) {
            return Err(Impossible::PortIsListen(listen));
        }
    }
    Ok(())
}

fn families_on_loopback(interfaces: &[Interface]) -> Vec<Family> {
    let on_lo = |family: Family| {
        let mut loopbacks = interfaces.iter().filter(|i| i.loopback && i.up);
        loopbacks.any(|interface| interface.addresses.contains(&family.loopback()))
    };
    [Family::V4, Family::V6]
        .into_iter()
        .filter(|&family| on_lo(family))
        .collect()
}

/// Rules and the route that make every address of a family one of ours, for loopback alone.
fn source(family: Family, routed_v4: bool) -> (Vec<Rule>, Route) {
    if family == Family::V4 && routed_v4 {
        let hide = Rule::new(family, 0, LOCAL_TABLE).without_default();
        let answers = Rule::new(family, 1, LOCAL_TABLE).for_loopback_answers();
        return (vec![hide, answers], Route::new(family, LOCAL_TABLE));
    }
    let answers = Rule::new(family, 1, OUR_TABLE).for_loopback_answers();
    (vec![answers], Route::new(family, OUR_TABLE))
}

impl FromStr for Redirect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ports = text.split_once(':').and_then(|(port, listen)| {
            let read = |text: &str| text.parse().ok().filter(|&port| port != 0);
            Some(Self {
                port: read(port)?,
                listen: read(listen)?,
            })
        });
        ports.ok_or_else(|| "expected PORT:LISTEN, as in 8080:15001".to_owned())
    }
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.port, self.listen)
    }
}
