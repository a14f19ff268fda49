//! The `init` command: prepares a pod's network namespace once, so that the sidecar needs no
//! capability afterwards.
//!
//! Three things are true when it is done: a process without privileges may connect to loopback
//! from any address and gets the answers; the ports peers dial lead to the sidecar; and no packet
//! leaves the pod with a source that is not its own. What must exist is a [`plan`], pure data;
//! [`init`] compares it with what exists and adds what is missing, so a second run changes
//! nothing. Everything carries a mark of ours, and `undo` takes away exactly that.
//!
//! Calls block and concern the network namespace of the calling thread.

mod attribute;
mod changes;
mod error;
mod interfaces;
mod kernel;
mod netlink;
mod nft;
mod plan;
mod rule;
mod socket;
mod table;
mod verify;

pub use self::error::{Error, Impossible};
pub use self::plan::{Redirect, SourceMode};
pub use self::rule::Family;
pub use self::socket::Refused;
pub use self::verify::{SpoofError, spoof_works};

use nix::errno::Errno;

use self::changes::Change;
use self::kernel::Kernel;
use self::plan::{Plan, Request};
use self::table::TableFamily;

/// What `init` is asked to do.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// A port peers dial and the sidecar's port that takes its connections, as in 8080:15001; may
    /// be given several times
    #[arg(long = "redirect", value_name = "PORT:LISTEN")]
    pub redirects: Vec<Redirect>,

    /// How inbound connections reach the sidecar
    #[arg(long, value_enum, default_value_t)]
    pub steer: Steer,

    /// How the sidecar may dial the app from a client's address
    #[arg(long, value_enum, default_value_t)]
    pub source_mode: SourceMode,

    /// An interface to steer and guard; may be given several times. Without it: every interface
    /// that is up and has an address, except lo
    #[arg(long = "interface", value_name = "NAME")]
    pub interfaces: Vec<String>,

    /// Take away everything an earlier run made
    #[arg(long, conflicts_with = "check")]
    pub undo: bool,

    /// Print the commands that would do the same and change nothing
    #[arg(long, conflicts_with = "check")]
    pub dry_run: bool,

    /// Change nothing; say what is missing and try a connection from a foreign address
    #[arg(long)]
    pub check: bool,

    /// Do not try a connection from a foreign address afterwards
    #[arg(long)]
    pub no_verify: bool,
}

/// How inbound connections reach the sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Steer {
    /// netdev, or inet where the kernel has no egress hook
    #[default]
    Auto,
    /// Rewrite ports on the interfaces (Linux 5.16); loopback traffic is not touched
    Netdev,
    /// Rewrite ports in the stack; costs every loopback packet a little
    Inet,
    /// Nothing: the sidecar listens on the pod's address and the app on loopback, both on one port
    SamePort,
}

/// What was done, a line each, for people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In order.
    pub lines: Vec<String>,
}

/// Prepares the calling thread's network namespace, or undoes that. Twice is the same as once.
pub fn init(options: &Options) -> Result<Report, Error> {
    let mut kernel = Kernel::open()?;
    let existing = kernel.existing()?;
    if options.undo {
        let changes = changes::to_undo(&existing, None);
        return carry_out(&mut kernel, &changes, options.dry_run, "nothing to undo");
    }
    let (plan, mut notes) = make_plan(&mut kernel, options)?;
    if options.check {
        notes.extend(check(&mut kernel, &plan, options.source_mode)?);
        return Ok(Report { lines: notes });
    }
    let changes = changes::to_apply(&plan, &existing)?;
    let mut report = carry_out(&mut kernel, &changes, options.dry_run, "already in place")?;
    if !options.dry_run {
        report.lines.extend(notes);
        if !options.no_verify {
            report
                .lines
                .extend(verify(&mut kernel, &plan, options.source_mode)?);
        }
    }
    Ok(report)
}

/// Which rules and routes of this mode the calling thread's namespace lacks, a sentence each. Needs
/// no privilege, unlike a look at the nft table: `serve` says it when its self-test fails.
pub fn missing(source_mode: SourceMode) -> Result<Vec<String>, Error> {
    let interfaces = interfaces::read().map_err(reading("interfaces"))?;
    let plan = plan::plan(&Request {
        redirects: &[],
        table: None,
        source_mode,
        interfaces: &interfaces,
        devices: &[],
    })?;
    let existing = Kernel::without_tables()?.existing()?;
    Ok(changes::gaps(&plan, &existing))
}

/// The plan for this namespace, and what the user should know about it.
fn make_plan(kernel: &mut Kernel, options: &Options) -> Result<(Plan, Vec<String>), Error> {
    let interfaces = interfaces::read().map_err(reading("interfaces"))?;
    let devices = interfaces::choose(&options.interfaces, &interfaces)?;
    let redirects = options.redirects.as_slice();
    if options.steer == Steer::SamePort && !redirects.is_empty() {
        return Err(Impossible::SamePortRedirect.into());
    }
    if devices.is_empty() && !redirects.is_empty() {
        return Err(Impossible::NothingToSteer.into());
    }
    let source_mode = options.source_mode;
    let planned = |table| {
        let (interfaces, devices) = (&interfaces, &devices);
        plan::plan(&Request {
            redirects,
            table,
            source_mode,
            interfaces,
            devices,
        })
    };
    if devices.is_empty() {
        let note = "no guard: no interface but lo is up and has an address";
        return Ok((planned(None)?, vec![note.to_owned()]));
    }
    let mut refusals = Vec::new();
    for &family in options.steer.families() {
        let plan = planned(Some(family))?;
        match kernel.would_refuse(&plan)? {
            None => return Ok((plan, Vec::new())),
            Some(refused) => refusals.push(refused),
        }
    }
    options.steer.without_table(refusals)?;
    let note = "no guard: this kernel has no nf_tables, a foreign source may leave the pod";
    Ok((planned(None)?, vec![note.to_owned()]))
}

impl Steer {
    /// Which families may carry the table, the best first.
    fn families(self) -> &'static [TableFamily] {
        match self {
            Self::Auto | Self::SamePort => &table::FAMILIES,
            Self::Netdev => &[TableFamily::Netdev],
            Self::Inet => &[TableFamily::Inet],
        }
    }

    /// Whether it can do without a table that the kernel refuses.
    fn without_table(self, mut refusals: Vec<Refused>) -> Result<(), Impossible> {
        let instead = match self {
            Self::SamePort => return Ok(()),
            Self::Netdev => "inet or same-port",
            Self::Auto | Self::Inet => "same-port",
        };
        let refused = refusals.pop().unwrap_or_else(|| Errno::EOPNOTSUPP.into());
        Err(Impossible::NoNfTables { refused, instead })
    }
}

fn carry_out(
    kernel: &mut Kernel,
    changes: &[Change],
    dry_run: bool,
    nothing: &str,
) -> Result<Report, Error> {
    if changes.is_empty() {
        // What a dry run prints is for a shell.
        let mark = if dry_run { "# " } else { "" };
        return Ok(Report {
            lines: vec![format!("{mark}{nothing}")],
        });
    }
    let mut lines = Vec::new();
    for change in changes {
        if dry_run {
            lines.push(change.to_string());
            continue;
        }
        let refused = |source| Error::Change {
            step: change.tried(),
            source,
        };
        kernel.make(change).map_err(refused)?;
        lines.push(change.done());
    }
    Ok(Report { lines })
}

/// Compares, then tries, and changes nothing.
fn check(kernel: &mut Kernel, plan: &Plan, mode: SourceMode) -> Result<Vec<String>, Error> {
    let lines = verify(kernel, plan, mode)?;
    let gaps = changes::gaps(plan, &kernel.existing()?);
    if gaps.is_empty() {
        Ok(lines)
    } else {
        Err(Error::Gaps(gaps.join("; ")))
    }
}

/// A connection from a foreign source in each family; when it fails, what is missing.
fn verify(kernel: &mut Kernel, plan: &Plan, mode: SourceMode) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for family in plan.families() {
        if let Err(source) = verify::spoof_works_unprivileged(family, mode) {
            let gaps = changes::gaps(plan, &kernel.existing()?);
            return Err(if gaps.is_empty() {
                Error::Verify { family, source }
            } else {
                Error::Missing {
                    family,
                    gaps: gaps.join("; "),
                }
            });
        }
        lines.push(format!(
            "verified: loopback takes a connection from {}",
            verify::client(family)
        ));
    }
    Ok(lines)
}

fn reading<E: Into<Refused>>(what: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Read {
        what,
        source: error.into(),
    }
}
