//! Connections of the load: each from the next source address, each naming the next client.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send, setsockopt, sockopt};
use socket2::{Domain, SockAddr, Socket, Type};

use super::Way;
use super::header::{self, Header};

/// What the app takes for "echo this".
pub(crate) const PING: &[u8] = b"PING\r\n";

/// How long a dial and its first answer may take: far longer than a healthy contender needs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens connections to one contender.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    to: SocketAddrV4,
    header: Header,
    /// First of the addresses that connections come from.
    source: Ipv4Addr,
    /// How many there are: few would run out of ports while old connections are in TIME_WAIT.
    sources: u32,
    /// Number of the next client, and how far each thread goes on.
    next: u64,
    stride: u64,
    /// Clients named so far.
    named: u64,
}

impl Dialer {
    /// The `at`th of `stride` dialers that share a way and its clients.
    pub(crate) fn new(way: &Way, at: u64, stride: u64) -> Self {
        Self {
            to: way.to,
            header: way.header,
            source: way.source,
            sources: way.sources,
            next: way.first_client + at,
            stride,
            named: 0,
        }
    }

    /// Number of the next client.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Clients named so far.
    pub(crate) fn named(&self) -> u64 {
        self.named
    }

    /// A connection under way, without blocking; on one machine it is usually there at once.
    pub(crate) fn begin(&self) -> io::Result<Socket> {
        let socket = self.socket(Type::STREAM.nonblocking())?;
        match socket.connect(&SockAddr::from(self.to)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            Ok(()) | Err(_) => Ok(socket),
        }
    }

    /// The next client's header, in place of what `buffer` held.
    pub(crate) fn write_header(&mut self, buffer: &mut Vec<u8>) {
        header::write(self.header, header::client(self.next), self.to, buffer);
        self.next += self.stride;
        self.named += 1;
    }

    /// A connection whose app has answered: nothing of its beginning falls into the measurement.
    pub(crate) fn proven(&mut self) -> anyhow::Result<Socket> {
        let socket = self.greet(PING)?;
        let mut answer = [0; PING.len()];
        let mut got = 0;
        while got < answer.len() {
            let read = recv(socket.as_raw_fd(), &mut answer[got..], MsgFlags::empty());
            let read = read.context("the app's first answer did not come")?;
            ensure!(
                read > 0,
                "the connection was closed before the first answer"
            );
            got += read;
        }
        ensure!(answer == PING, "the first answer is not an echo");
        Ok(socket)
    }

    /// A connection, blocking, on which header and `first` are sent.
    pub(crate) fn greet(&mut self, first: &[u8]) -> anyhow::Result<Socket> {
        let to = self.to;
        let socket = self.socket(Type::STREAM)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let connected = socket.connect(&SockAddr::from(to));
        connected.with_context(|| format!("could not connect to {to}"))?;
        socket.set_tcp_nodelay(true)?;
        let mut hello = Vec::new();
        self.write_header(&mut hello);
        hello.extend_from_slice(first);
        let sent = send(socket.as_raw_fd(), &hello, MsgFlags::MSG_NOSIGNAL)?;
        ensure!(sent == hello.len(), "the header was not taken in one piece");
        Ok(socket)
    }

    fn socket(&self, kind: Type) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, kind, None)?;
        // The port is chosen at connect, for the whole 4-tuple: one source serves many.
        setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
        let turn = u32::try_from(self.next % u64::from(self.sources.max(1))).unwrap_or(0);
        let source = Ipv4Addr::from(u32::from(self.source) + turn);
        socket.bind(&SockAddr::from(SocketAddrV4::new(source, 0)))?;
        Ok(socket)
    }
}

/// One receive without waiting.
pub(crate) fn receive(socket: &Socket, buffer: &mut [u8]) -> Result<usize, Errno> {
    recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT)
}

/// One send without waiting.
pub(crate) fn transmit(socket: &Socket, bytes: &[u8]) -> Result<usize, Errno> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    send(socket.as_raw_fd(), bytes, flags)
}
