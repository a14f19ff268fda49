//! System calls that no safe crate has: the only file that may say `unsafe`.
#![allow(
    unsafe_code,
    reason = "raw system calls, each a few lines with its reason"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;

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
