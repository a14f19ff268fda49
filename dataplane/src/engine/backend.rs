//! What differs between the engines: how a worker asks the kernel, and how it is answered.
//!
//! `epoll.rs` is told what a socket is ready for and then calls; `uring.rs` asks for something to be
//! done and is told that it was. Everything else is the same code.

use std::io;

use nix::errno::Errno;

use super::Mailbox;
use super::carry::{Carried, Tools};
use super::listener::Listener;
use super::worker::Worker;
use crate::connection::{Side, Tick, Way};

/// A way to talk to the kernel.
pub(super) trait Backend: Sized {
    /// What a connection has of it, beside its sockets and what it holds.
    type Link: Default;

    /// One for this thread; it tells of the mailbox.
    fn new(mailbox: &Mailbox) -> io::Result<Self>;

    /// Waits until there is something to tell, or so many milliseconds.
    fn wait(&mut self, limit: Option<Tick>);

    /// Tells everyone whom it concerns what the last wait brought.
    fn deliver(worker: &mut Worker<Self>);

    /// Is to tell when somebody waits at a listener.
    ///
    /// # Errors
    /// What the kernel says.
    fn listen(&mut self, listener: &mut Listener) -> Result<(), Errno>;

    /// Is to tell no more.
    fn rest(&mut self, listener: &mut Listener);

    /// Is to tell no more, for ever.
    fn end(&mut self, listener: Listener);

    /// Is to tell of the peer's socket.
    ///
    /// # Errors
    /// What the kernel says.
    fn adopt(&mut self, carried: &Carried<Self>) -> Result<(), Errno>;

    /// Is to tell of the app's socket, which is being dialled if it is not connected.
    ///
    /// # Errors
    /// What the kernel says.
    fn dialled(&mut self, carried: &mut Carried<Self>, connected: bool) -> Result<(), Errno>;

    /// Closes the socket of a dial that failed, if there was one.
    fn forget_app(&mut self, carried: &mut Carried<Self>);

    /// Closes a connection's sockets.
    fn close(&mut self, carried: Carried<Self>);

    /// Puts what came of the beginning into the scratch buffer at `from`, or EAGAIN.
    ///
    /// # Errors
    /// What the kernel says.
    fn receive(
        carried: &mut Carried<Self>,
        from: usize,
        tools: &mut Tools<'_, Self>,
    ) -> Result<usize, Errno>;

    /// The app was reached: payload goes on from here.
    fn reached(carried: &mut Carried<Self>);

    /// Carries out [`Command::Read`](crate::connection::Command::Read).
    fn read(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>);

    /// Carries out [`Command::Write`](crate::connection::Command::Write).
    fn write(carried: &mut Carried<Self>, way: Way, tools: &mut Tools<'_, Self>);

    /// A connection's turn is over, and it has nothing to do.
    fn settle(carried: &mut Carried<Self>, backend: &mut Self);

    /// The source had nothing: is to tell when it has.
    fn await_source(&mut self, carried: &mut Carried<Self>, way: Way);

    /// The source's stream has ended: is to tell when its socket fails.
    fn ended(&mut self, carried: &mut Carried<Self>, way: Way);

    /// This side takes no more: is to tell when it does.
    fn await_room(&mut self, carried: &mut Carried<Self>, side: Side);
}
