//! What a worker is told by the main thread and by other workers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{Open, Opened, Setup};
use crate::address::Peer;
use crate::config::Port;

/// What a worker is told.
pub(super) enum Order {
    /// Serve this from now on; these listeners are new, those of other addresses go.
    Setup(Arc<Setup>, Opened),
    /// Accept no more, carry on what is open, end when nothing is.
    Drain,
    /// Cut what is open and end.
    Cut,
    /// Say what is open.
    List(Sender<Vec<Open>>),
    /// Serve this connection, which another worker has accepted.
    Take(Box<Handed>),
}

/// A connection that one worker has accepted for another one.
pub(super) struct Handed {
    /// The listener it came by.
    pub(super) at: SocketAddr,
    pub(super) port: Arc<Port>,
    pub(super) setup: Arc<Setup>,
    pub(super) socket: OwnedFd,
    pub(super) peer: Peer,
}

/// Orders on their way to one worker.
pub(super) struct Mailbox {
    /// None once the worker has ended.
    orders: Mutex<Option<Vec<Order>>>,
    pub(super) wake: EventFd,
}

impl Mailbox {
    /// Empty.
    pub(super) fn new() -> io::Result<Self> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self {
            orders: Mutex::new(Some(Vec::new())),
            wake,
        })
    }

    /// Gives the order back if the worker has ended.
    pub(super) fn send(&self, order: Order) -> Result<(), Order> {
        match &mut *self.orders() {
            Some(orders) => orders.push(order),
            None => return Err(order),
        }
        // It fails only when the counter is full, and then the worker is awake.
        let _ = self.wake.write(1);
        Ok(())
    }

    /// What was sent since this was asked last.
    pub(super) fn take(&self) -> Vec<Order> {
        let _ = self.wake.read();
        self.orders()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Takes no more orders, unless there is one that nobody has read.
    pub(super) fn close(&self) -> bool {
        let mut orders = self.orders();
        if orders.as_ref().is_some_and(Vec::is_empty) {
            *orders = None;
        }
        orders.is_none()
    }

    /// How many orders nobody has read.
    pub(super) fn unread(&self) -> usize {
        self.orders().as_ref().map_or(0, Vec::len)
    }

    fn orders(&self) -> MutexGuard<'_, Option<Vec<Order>>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
