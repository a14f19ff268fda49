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

/// recv(2) without libc's bookkeeping for the cancellation of threads, which costs as much as all of
/// ours for a small message.
///
/// # Errors
/// Those of recv(2).
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let nowhere = std::ptr::null::<libc::c_void>();
    // SAFETY: the kernel writes at most `len` bytes to a buffer of that length, and no address.
    let n = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_fd().as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            0,
            nowhere,
            nowhere,
        )
    };
    length(n)
}

/// send(2) in the same way, without SIGPIPE.
///
/// # Errors
/// Those of send(2).
pub fn transmit(socket: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    let nowhere = std::ptr::null::<libc::c_void>();
    // SAFETY: the kernel reads at most `len` bytes of a buffer of that length, and no address.
    let n = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_fd().as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            nowhere,
            0,
        )
    };
    length(n)
}

fn length(result: libc::c_long) -> Result<usize, Errno> {
    Errno::result(result).map(|n| usize::try_from(n).unwrap_or(0))
}

/// Schedules this thread under SCHED_BATCH, which needs no privilege: woken, it does not interrupt
/// who runs (wakeup_preempt_fair, kernel/sched/fair.c). libc's own call is for processes, and some
/// have none.
///
/// # Errors
/// Those of sched_setscheduler(2).
pub fn schedule_as_batch() -> Result<(), Errno> {
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one sched_param, which is one int, and keeps no pointer.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_BATCH,
            &raw const priority,
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
