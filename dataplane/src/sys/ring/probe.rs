//! Whether there can be a ring here, tried for real.

use std::fs;
use std::io;
use std::time::Duration;

use io_uring::{opcode, register};
use nix::errno::Errno;

use super::Ring;
use super::completion::Kind;

/// Everything that we ask of a ring.
const REQUESTS: [(u8, &str); 6] = [
    (opcode::Nop::CODE, "NOP"),
    (opcode::Recv::CODE, "RECV"),
    (opcode::Send::CODE, "SEND"),
    (opcode::PollAdd::CODE, "POLL_ADD"),
    (opcode::AsyncCancel::CODE, "ASYNC_CANCEL"),
    (opcode::Close::CODE, "CLOSE"),
];

const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";

/// Why there is no io_uring, and what would help.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The node's switch.
    #[error(
        "io_uring is switched off on this node; set kernel.io_uring_disabled=0, which is {0} now"
    )]
    Disabled(String),
    /// Most likely seccomp.
    #[error(
        "io_uring is not permitted, as in most containers; a seccomp profile that allows io_uring_setup, io_uring_enter and io_uring_register would permit it"
    )]
    Forbidden(#[source] io::Error),
    /// The kernel lacks it, or a profile says so.
    #[error("there is no io_uring: a kernel without it, or a seccomp profile that hides it")]
    Absent(#[source] io::Error),
    /// The kernel has another one.
    #[error("this kernel's io_uring is too old; Linux 6.1 or later has what is needed")]
    Old(#[source] io::Error),
    /// A request is missing.
    #[error("this kernel's io_uring lacks {0}; Linux 6.1 or later has it")]
    Lacks(&'static str),
    /// Anything else.
    #[error("an io_uring could not be tried")]
    Failed(#[source] io::Error),
}

/// Sets a ring up as workers do, asks it for something that does nothing, and takes it down.
///
/// # Errors
/// Why there is none.
pub fn probe() -> Result<(), Unavailable> {
    let mut ring = Ring::new().map_err(explain)?;
    if !ring.ring.params().is_feature_ext_arg() || !ring.ring.params().is_feature_nodrop() {
        return Err(Unavailable::Old(Errno::EOPNOTSUPP.into()));
    }
    let mut known = register::Probe::new();
    let asked = ring.ring.submitter().register_probe(&mut known);
    asked.map_err(Unavailable::Failed)?;
    let missing = REQUESTS.iter().find(|(code, _)| !known.is_supported(*code));
    if let Some((_, name)) = missing {
        return Err(Unavailable::Lacks(name));
    }
    // SAFETY: the request names no memory.
    unsafe { ring.push(Kind::Poll, 0, opcode::Nop::new().build()) };
    let waited = ring.wait(Some(Duration::from_secs(1)));
    waited.map_err(|errno| explain(errno.into()))?;
    match ring.completed() {
        Some(_) => Ok(()),
        None => Err(Unavailable::Failed(Errno::ETIME.into())),
    }
}

fn explain(error: io::Error) -> Unavailable {
    let switch = fs::read_to_string(SWITCH).unwrap_or_default();
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) if !matches!(switch.trim(), "" | "0") => {
            Unavailable::Disabled(switch.trim().to_owned())
        }
        Some(Errno::EPERM | Errno::EACCES) => Unavailable::Forbidden(error),
        Some(Errno::ENOSYS) => Unavailable::Absent(error),
        Some(Errno::EINVAL) => Unavailable::Old(error),
        _ => Unavailable::Failed(error),
    }
}
