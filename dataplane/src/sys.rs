//! System calls that no safe wrapper offers. Nothing outside of here may say `unsafe`.
#![allow(
    unsafe_code,
    reason = "raw system calls; each block says why it is sound"
)]

pub mod ring;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use socket2::SockAddr;
use tokio::io::unix::AsyncFd;

/// A descriptor that the runtime says the readiness of.
///
/// # Errors
/// Those of epoll_ctl(2).
pub fn in_runtime(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd is open for as long as it lives, and names one descriptor all its life.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

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

/// Closes two descriptors, in one call where they are neighbours, which those of a short connection
/// are as a rule.
pub fn close_both(one: OwnedFd, other: OwnedFd) {
    let (first, last) = match one.as_raw_fd() < other.as_raw_fd() {
        true => (one, other),
        false => (other, one),
    };
    if first.as_raw_fd() + 1 != last.as_raw_fd() {
        return;
    }
    // SAFETY: both are ours, open, and all that is between their numbers. The call takes numbers.
    let closed = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first.as_raw_fd(),
            last.as_raw_fd(),
            0,
        )
    };
    // An old kernel or a filter refuses as a whole: then each is closed by its drop.
    if closed == 0 {
        std::mem::forget((first, last));
    }
}

/// Gives this thread alone another user, for good. libc's own setresuid would change the whole
/// process.
pub fn become_user(uid: libc::uid_t) -> Result<(), Errno> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) };
    Errno::result(result).map(drop)
}
