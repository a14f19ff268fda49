//! Proof instead of hope: a connection to loopback from a foreign source, as the sidecar makes it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt;

use super::plan::SourceMode;
use super::rule::Family;
use crate::connection::ladder::{Attempt, Call, Step};
use crate::engine::socket::{self, Dialling};
use crate::sys;

/// How long a connection within loopback may take.
const LIMIT: Duration = Duration::from_secs(2);

/// "nobody" of the images we ship.
const UNPRIVILEGED: libc::uid_t = 65532;

/// Why a connection from a foreign source did not come about.
#[derive(Debug, thiserror::Error)]
pub enum SpoofError {
    /// There is no loopback address of the family to listen on.
    #[error("could not listen on loopback")]
    Listen(#[source] io::Error),
    /// A step of the dialling socket failed.
    #[error("could not {step}: {}", .errno.desc().to_lowercase())]
    Dial {
        /// What the socket was doing.
        step: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The packets went somewhere else.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The listener saw someone else.
    #[error("the app would have seen {0}")]
    OtherPeer(SocketAddr),
    /// The accepted connection broke at once.
    #[error("could not accept")]
    Accept(#[source] io::Error),
    /// The thread could not give up what it has.
    #[error("could not drop privileges: {0}")]
    Privileges(String),
}

/// The documentation address used as a client's (RFC 5737, RFC 3849).
pub(super) fn client(family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(192, 0, 2, 1).into(),
        Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// Connects to a listener of its own on loopback from a documentation address and compares what
/// the listener sees. Needs no privilege in routed mode, NET_RAW or NET_ADMIN in transparent mode.
/// Blocks, two seconds at most.
pub fn spoof_works(family: Family, mode: SourceMode) -> Result<(), SpoofError> {
    let end = Instant::now() + LIMIT;
    let listener = TcpListener::bind((family.loopback(), 0)).map_err(SpoofError::Listen)?;
    listener.set_nonblocking(true).map_err(SpoofError::Listen)?;
    let app = listener.local_addr().map_err(SpoofError::Listen)?;
    let dialler = dial(family, mode, app)?;
    wait(&dialler, PollFlags::POLLOUT, end)?;
    let refused = nix::sys::socket::getsockopt(&dialler, sockopt::SocketError);
    let refused = refused.map_err(|errno| SpoofError::Dial {
        step: "read the answer",
        errno,
    })?;
    if refused != 0 {
        let errno = Errno::from_raw(refused);
        return Err(SpoofError::Dial {
            step: "connect",
            errno,
        });
    }
    wait(&listener, PollFlags::POLLIN, end)?;
    let (_, peer) = listener.accept().map_err(SpoofError::Accept)?;
    if peer.ip() == client(family) {
        Ok(())
    } else {
        Err(SpoofError::OtherPeer(peer))
    }
}

/// The same as a process without privileges would find it: on a thread of its own, which gives up
/// its user and its capabilities first. In transparent mode it keeps the one capability needed.
pub(super) fn spoof_works_unprivileged(family: Family, mode: SourceMode) -> Result<(), SpoofError> {
    std::thread::scope(|scope| {
        let unprivileged = scope.spawn(|| {
            drop_privileges(mode)?;
            spoof_works(family, mode)
        });
        let lost = |_| Err(SpoofError::Privileges("the thread ended early".to_owned()));
        unprivileged.join().unwrap_or_else(lost)
    })
}

fn drop_privileges(mode: SourceMode) -> Result<(), SpoofError> {
    let failed = |error: caps::errors::CapsError| SpoofError::Privileges(error.to_string());
    if mode == SourceMode::Transparent {
        let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
        let enough = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
        let kept = enough
            .into_iter()
            .find(|capability| permitted.contains(capability));
        let kept: CapsHashSet = kept.into_iter().collect();
        caps::set(None, CapSet::Effective, &kept).map_err(failed)?;
        return caps::set(None, CapSet::Permitted, &kept).map_err(failed);
    }
    // With NET_ADMIN alone, as in a pod, the kernel refuses another user: no capability is enough.
    let _ = sys::become_user(UNPRIVILEGED);
    caps::clear(None, CapSet::Effective).map_err(failed)?;
    caps::clear(None, CapSet::Permitted).map_err(failed)
}

/// A socket on its way from the client's address to `app`, dialled as the sidecar dials apps.
fn dial(family: Family, mode: SourceMode, app: SocketAddr) -> Result<OwnedFd, SpoofError> {
    let attempt = Attempt {
        source: Some(SocketAddr::new(client(family), 0)),
        destination: app,
        step: Step::EphemeralPort,
    };
    match socket::dial(&attempt, Dialling { mode, mark: 0 }, &[]) {
        Ok(dialled) => {
            // A test now and then leaves nothing in TIME_WAIT.
            socket::reset_on_close(&dialled.socket);
            Ok(dialled.socket)
        }
        Err((call, errno)) => Err(SpoofError::Dial {
            step: step(call),
            errno,
        }),
    }
}

fn step(call: Call) -> &'static str {
    match call {
        Call::Socket => "make a socket for a foreign source",
        Call::Bind => "bind the source",
        Call::Connect => "connect",
    }
}

fn wait(socket: &impl AsFd, readiness: PollFlags, end: Instant) -> Result<(), SpoofError> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        match poll(&mut [PollFd::new(socket.as_fd(), readiness)], limit) {
            Ok(0) => return Err(SpoofError::TimedOut(LIMIT)),
            Err(Errno::EINTR) => {}
            Err(errno) => {
                return Err(SpoofError::Dial {
                    step: "wait",
                    errno,
                });
            }
            Ok(_) => return Ok(()),
        }
    }
}
