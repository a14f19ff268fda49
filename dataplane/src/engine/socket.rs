//! Sockets with their options: listeners for peers, dials for clients.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect,
    getpeername, getsockname, send, setsockopt, socket, sockopt,
};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::connection::ladder::{Attempt, Call};
use crate::routes::SourceMode;

/// Connections the kernel holds for us while we are busy or at the limit; it takes the smaller of
/// this and net.core.somaxconn.
pub(super) const BACKLOG: i32 = 4096;

/// Probes after three minutes of silence, as ztunnel does: dead peers are noticed in six minutes.
const KEEPALIVE: Duration = Duration::from_secs(180);

/// What every dial has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialling {
    /// How foreign sources are bound.
    pub mode: SourceMode,
    /// `SO_MARK` of the app-side socket; 0 sets none.
    pub mark: u32,
}

/// A dial that did not fail at once.
#[derive(Debug)]
pub struct Dialled {
    /// The socket, non-blocking.
    pub socket: OwnedFd,
    /// Whether it is connected already.
    pub reached: Reached,
}

/// How far a dial has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The socket is connected, under this name, and this much of the payload was sent.
    At(SocketAddr, usize),
    /// It will become writable.
    Later,
}

/// A listener for peers: dual-stack for `[::]`, one of several on its address.
///
/// # Errors
/// Those of socket(2), bind(2) and listen(2).
pub fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        None,
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // Accepted sockets inherit these (inet_csk_clone_lock, net/ipv4/inet_connection_sock.c).
    socket.set_tcp_nodelay(true)?;
    socket.set_out_of_band_inline(true)?;
    keep_alive(&SockRef::from(&socket))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Dials the app, and sends it the beginning of the payload if it is reached at once.
///
/// # Errors
/// What socket(2), its options, bind(2) or connect(2) say, with the call that failed.
pub fn dial(
    attempt: &Attempt,
    dialling: Dialling,
    payload: &[u8],
) -> Result<Dialled, (Call, Errno)> {
    let family = match attempt.destination {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Stream, flags, SockProtocol::Tcp)
        .map_err(|errno| (Call::Socket, errno))?;
    options(&socket, attempt, dialling).map_err(|error| (Call::Socket, errno_of(&error)))?;
    if let Some(source) = attempt.source {
        bind(socket.as_raw_fd(), &SockaddrStorage::from(source))
            .map_err(|errno| (Call::Bind, errno))?;
    }
    let destination = SockaddrStorage::from(attempt.destination);
    let reached = match connect(socket.as_raw_fd(), &destination) {
        Ok(()) | Err(Errno::EINPROGRESS) => reached(&socket, attempt, payload),
        Err(errno) => Err(errno),
    };
    let reached = reached.map_err(|errno| (Call::Connect, errno))?;
    Ok(Dialled { socket, reached })
}

/// Over loopback the handshake is over when connect() returns, though it says EINPROGRESS: the app's
/// answer was processed as it released the socket (release_sock, net/core/sock.c). So the payload is
/// sent at once, which fails with EAGAIN before that (sk_stream_wait_connect, net/core/stream.c).
/// Nothing is sent under a name that was not asked for.
fn reached(socket: &OwnedFd, attempt: &Attempt, payload: &[u8]) -> Result<Reached, Errno> {
    let local = local_name(socket)?;
    if payload.is_empty() || !attempt.accepts(local) {
        return Ok(match is_connected(socket) {
            true => Reached::At(local, 0),
            false => Reached::Later,
        });
    }
    match send(socket.as_raw_fd(), payload, MsgFlags::MSG_NOSIGNAL) {
        Ok(n) => Ok(Reached::At(local, n)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(Reached::Later),
        Err(errno) => Err(errno),
    }
}

/// A socket that is not connected has no peer (inet_getname, net/ipv4/af_inet.c).
fn is_connected(socket: &OwnedFd) -> bool {
    getpeername::<SockaddrStorage>(socket.as_raw_fd()).is_ok()
}

/// Small segments are sent at once.
pub(super) fn send_at_once(socket: &OwnedFd) {
    // A socket that refuses has an error, which the next write tells.
    let _ = SockRef::from(socket).set_tcp_nodelay(true);
}

/// Urgent data stays in its place in the stream; without this a read leaves it out. Accepted sockets
/// have it from their listener.
pub(super) fn keep_urgent(socket: &OwnedFd) {
    // A socket that refuses has an error, which the next read tells.
    let _ = SockRef::from(socket).set_out_of_band_inline(true);
}

/// The address and port the kernel gave a socket.
///
/// # Errors
/// Those of getsockname(2).
pub fn local_name(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    let name: SockaddrStorage = getsockname(socket.as_raw_fd())?;
    match (name.as_sockaddr_in(), name.as_sockaddr_in6()) {
        (Some(v4), _) => Ok(SocketAddr::from((v4.ip(), v4.port()))),
        (_, Some(v6)) => Ok(SocketAddr::from((v6.ip(), v6.port()))),
        (None, None) => Err(Errno::EAFNOSUPPORT),
    }
}

/// The close of this socket will be a reset.
pub fn reset_on_close(socket: &OwnedFd) {
    // A socket that refuses the option closes in order instead; there is nobody to tell.
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

fn options(socket: &OwnedFd, attempt: &Attempt, dialling: Dialling) -> io::Result<()> {
    // No keep-alive: the app is on this machine, its kernel answers as long as ours.
    let socket_ref = SockRef::from(socket);
    if dialling.mark != 0 {
        socket_ref.set_mark(dialling.mark)?;
    }
    let Some(source) = attempt.source else {
        return Ok(());
    };
    // bind() then passes over our own sockets in TIME_WAIT; connect() still checks the tuple.
    socket_ref.set_reuse_address(true)?;
    if source.port() == 0 {
        setsockopt(socket, sockopt::IpBindAddressNoPort, &true)?;
    }
    match (source.ip(), dialling.mode) {
        (IpAddr::V4(_), SourceMode::Routed) => Ok(()),
        (IpAddr::V6(_), SourceMode::Routed) => socket_ref.set_freebind_v6(true),
        (IpAddr::V4(_), SourceMode::Transparent) => socket_ref.set_ip_transparent_v4(true),
        (IpAddr::V6(_), SourceMode::Transparent) => socket_ref.set_ip_transparent_v6(true),
    }
}

fn keep_alive(socket: &SockRef<'_>) -> io::Result<()> {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE / 9);
    socket.set_tcp_keepalive(&keepalive)
}

fn errno_of(error: &io::Error) -> Errno {
    error
        .raw_os_error()
        .map_or(Errno::UnknownErrno, Errno::from_raw)
}
