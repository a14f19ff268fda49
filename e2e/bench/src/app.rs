//! The app behind every contender: threads that share nothing, each with a listener of its own.
//!
//! A connection's first byte says what it is for: [`SINK`] reads, [`SOURCE`] sends, [`WHO`] answers
//! whom it sees, and everything else comes back as it is. It never waits for one connection while
//! another could go on: what a client does not take stays in a buffer of that connection.

mod connection;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::thread;

use anyhow::{Context, anyhow};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use socket2::{Domain, SockAddr, Socket, Type};

use self::connection::{Connection, Next};

/// First byte of a connection on which the app only reads.
pub(crate) const SINK: u8 = b'S';
/// First byte of a connection on which the app only sends.
pub(crate) const SOURCE: u8 = b'D';
/// First byte of a connection whose answer is the address that the app sees.
pub(crate) const WHO: u8 = b'W';

const BACKLOG: i32 = 4096;
const SCRATCH: usize = 64 * 1024;

/// The app to run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Port to listen on, at every address
    #[arg(long)]
    pub(crate) port: u16,
    /// Threads, each with its own listener
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
}

/// Serves for ever.
///
/// # Errors
/// When it cannot listen.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let listeners: Vec<_> = (0..options.threads.max(1))
        .map(|_| listen(options.port))
        .collect();
    let mut threads = Vec::new();
    for listener in listeners {
        let listener = listener.with_context(|| format!("could not listen on {}", options.port))?;
        threads.push(thread::spawn(|| Worker::new(listener)?.serve()));
    }
    for thread in threads {
        thread
            .join()
            .map_err(|_| anyhow!("a thread of the app panicked"))??;
    }
    Ok(())
}

fn listen(port: u16) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Accepted sockets inherit it.
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(SocketAddrV4::new(
        Ipv4Addr::UNSPECIFIED,
        port,
    )))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

struct Worker {
    listener: Socket,
    epoll: Epoll,
    /// Free places are reused, so that numbers stay small.
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    scratch: Vec<u8>,
}

/// The listener's number among the connections.
const LISTENER: u64 = u64::MAX;

impl Worker {
    fn new(listener: Socket) -> anyhow::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        Ok(Self {
            listener,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            scratch: vec![0; SCRATCH],
        })
    }

    fn serve(mut self) -> anyhow::Result<()> {
        let mut events = vec![EpollEvent::empty(); 256];
        loop {
            let ready = self
                .epoll
                .wait(&mut events, EpollTimeout::NONE)
                .unwrap_or(0);
            for event in &events[..ready] {
                match usize::try_from(event.data()) {
                    Ok(at) if event.data() != LISTENER => self.go_on(at, event.events())?,
                    Ok(_) | Err(_) => self.accept()?,
                }
            }
        }
    }

    /// Takes everybody who waits. A failed accept is that connection's end, not the app's.
    fn accept(&mut self) -> anyhow::Result<()> {
        // Blocking sockets save a system call each: every receive and send says MSG_DONTWAIT.
        while let Ok((socket, _)) = self.listener.accept() {
            let at = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            self.epoll
                .add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, at as u64))?;
            self.connections[at] = Some(Connection::new(socket));
        }
        Ok(())
    }

    fn go_on(&mut self, at: usize, ready: EpollFlags) -> anyhow::Result<()> {
        let Some(connection) = &mut self.connections[at] else {
            return Ok(());
        };
        let flags = match connection.go_on(ready, &mut self.scratch) {
            Next::Same => return Ok(()),
            Next::Read => EpollFlags::EPOLLIN,
            Next::Write => EpollFlags::EPOLLOUT,
            Next::End => {
                self.connections[at] = None;
                self.free.push(at);
                return Ok(());
            }
        };
        let mut event = EpollEvent::new(flags, at as u64);
        self.epoll.modify(connection.socket(), &mut event)?;
        Ok(())
    }
}
