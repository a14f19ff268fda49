//! The kernel's side of a namespace: what exists, and one change at a time.

use nix::errno::Errno;

use super::changes::{Change, Existing};
use super::netlink::Routing;
use super::nft::{Tables, is_unsupported};
use super::plan::Plan;
use super::socket::Refused;
use super::{Error, reading};

/// Rules, routes and tables of the calling thread's namespace.
pub(super) struct Kernel {
    routing: Routing,
    /// None where the kernel has no nf_tables.
    tables: Option<Tables>,
}

impl Kernel {
    pub(super) fn open() -> Result<Self, Error> {
        let routing = Routing::open().map_err(reading("interfaces"))?;
        let mut tables = match Tables::open() {
            Err(refused) if is_unsupported(refused.errno) => None,
            tables => Some(tables.map_err(reading("nft tables"))?),
        };
        // The socket may exist where nf_tables itself does not.
        match tables.as_mut().map(Tables::read) {
            Some(Err(refused)) if is_unsupported(refused.errno) => tables = None,
            Some(Err(refused)) => return Err(reading("nft tables")(refused)),
            _ => {}
        }
        Ok(Self { routing, tables })
    }

    /// For rules and routes alone, which anybody may read.
    pub(super) fn without_tables() -> Result<Self, Error> {
        let routing = Routing::open().map_err(reading("interfaces"))?;
        Ok(Self {
            routing,
            tables: None,
        })
    }

    pub(super) fn existing(&mut self) -> Result<Existing, Error> {
        let tables = self.tables.as_mut().map(Tables::read).transpose();
        Ok(Existing {
            rules: self.routing.rules().map_err(reading("routing rules"))?,
            routes: self.routing.routes().map_err(reading("routes"))?,
            tables: tables.map_err(reading("nft tables"))?.unwrap_or_default(),
        })
    }

    /// Why the plan's table could not be made here, if so.
    pub(super) fn would_refuse(&mut self, plan: &Plan) -> Result<Option<Refused>, Error> {
        match (&plan.table, &mut self.tables) {
            (None, _) => Ok(None),
            (Some(_), None) => Ok(Some(Errno::EOPNOTSUPP.into())),
            (Some(table), Some(tables)) => {
                tables.would_refuse(table).map_err(reading("nft tables"))
            }
        }
    }

    pub(super) fn make(&mut self, change: &Change) -> Result<(), Refused> {
        match change {
            Change::AddRule(rule) => self.routing.add_rule(rule),
            Change::DeleteRule(rule) => self.routing.delete_rule(rule),
            Change::AddRoute(route) => self.routing.add_route(route),
            Change::DeleteRoute(route) => self.routing.delete_route(route),
            Change::PutTable(table) => self.tables()?.put(table),
            Change::DeleteTable(family) => self.tables()?.delete(*family),
        }
    }

    fn tables(&mut self) -> Result<&mut Tables, Refused> {
        self.tables.as_mut().ok_or_else(|| Errno::EOPNOTSUPP.into())
    }
}
