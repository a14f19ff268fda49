//! System calls that no safe wrapper offers. The only file that may say `unsafe`.
#![allow(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use socket2::SockAddr;

/// Accepts one connection: non-blocking, close-on-exec, with the peer's address in the same call.
///
/// # Errors
/// Those of accept4(2); `WouldBlock` when nobody waits.
pub fn accept(listener: impl AsFd) -> io::Result<(OwnedFd, SocketAddr)> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let listener = listener.as_fd().as_raw_fd();
    let mut accepted = -1;
    // SAFETY: `try_init` passes a zeroed sockaddr_storage and its size, which accept4 may fill;
    // the closure is Ok only when accept4 has written the address or left it zeroed.
    let ((), name) = unsafe {
        SockAddr::try_init(|storage, length| {
            accepted = libc::accept4(listener, storage.cast(), length, flags);
            if accepted < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(())
            }
        })?
    };
    // SAFETY: accept4 succeeded, so this descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(accepted) };
    match name.as_socket() {
        Some(address) => Ok((socket, address)),
        None => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// Lets an IPv6 socket bind any source (`IPV6_FREEBIND`); needs no capability. Since Linux 4.15.
pub fn set_ipv6_freebind(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_FREEBIND, 1)
}

/// Lets an IPv6 socket carry any source (`IPV6_TRANSPARENT`); needs NET_RAW or NET_ADMIN.
pub fn set_ipv6_transparent(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT, 1)
}

fn set_option(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: libc::c_int,
) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(size_of_val(&value)).map_err(|_| Errno::EINVAL)?;
    // SAFETY: `socket` is open while borrowed; `value` is a c_int, as these options want, lives
    // across the call and `length` is its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    Errno::result(result).map(drop)
}

/// Gives this thread alone another user, for good. libc's own setresuid would change the whole
/// process.
pub fn become_user(uid: libc::uid_t) -> Result<(), Errno> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) };
    Errno::result(result).map(drop)
}
