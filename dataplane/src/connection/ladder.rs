//! Which source and destination to dial, and what to try next.
//!
//! The app must see the client's address and port. That 4-tuple may be taken: the same client through
//! two balancers, or a connection of a moment ago in TIME_WAIT. Then, each step counted:
//! 1. the same source to another loopback address (127.0.0.2 …), which reaches an app bound to the
//!    wildcard address; 2. the same client address from an ephemeral port. Never another address.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use nix::errno::Errno;

use super::outcome::DialError;
use crate::address::Client;

/// Last octet of the last other loopback address to try: 127.0.0.4.
const LAST_LOOPBACK: u8 = 4;

/// Where the app listens, per family of the client; at least one is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apps {
    /// Where clients of IPv4 go.
    pub ipv4: Option<SocketAddrV4>,
    /// Where clients of IPv6 go.
    pub ipv6: Option<SocketAddrV6>,
}

/// What to do with a client of IPv6 when the app has only an IPv4 address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingFamily {
    /// Close the connection.
    #[default]
    Refuse,
    /// Dial from loopback: the app does not learn who the client is.
    Unspoofed,
}

/// How the app is dialled. A closed set: the `step` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// From the client's address and port.
    AsClient,
    /// From the client's address and port to another loopback address.
    OtherLoopback,
    /// From the client's address and a port that the kernel chooses.
    EphemeralPort,
    /// From loopback, because the app lacks the client's family.
    Unspoofed,
}

impl Step {
    /// Every step, for the metric's labels.
    pub const ALL: [Self; 4] = [
        Self::AsClient,
        Self::OtherLoopback,
        Self::EphemeralPort,
        Self::Unspoofed,
    ];

    /// Value of the `step` label of `dials_total`.
    pub fn label(self) -> &'static str {
        match self {
            Self::AsClient => "as_client",
            Self::OtherLoopback => "other_loopback",
            Self::EphemeralPort => "ephemeral_port",
            Self::Unspoofed => "unspoofed",
        }
    }
}

/// One dial to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Bind here first; port 0 lets the kernel choose, None binds nothing.
    pub source: Option<SocketAddr>,
    /// Where the app is.
    pub destination: SocketAddr,
    /// Which step of the ladder this is.
    pub step: Step,
}

impl Attempt {
    /// Whether a connected socket's own name is the one asked for. The kernel has special cases
    /// (wildcard, multicast); whichever nobody thought of ends here.
    pub fn accepts(&self, local: SocketAddr) -> bool {
        match self.source {
            None => true,
            Some(source) if source.port() == 0 => source.ip() == local.ip(),
            Some(source) => source == local,
        }
    }
}

/// Which call of a dial failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `socket` or one of its options.
    Socket,
    /// `bind` to the source.
    Bind,
    /// `connect`, at once or later.
    Connect,
}

/// The dials for one connection, in order.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    client: Client,
    app: SocketAddr,
    current: Attempt,
}

impl Ladder {
    /// The first attempt for `client`.
    ///
    /// A client of IPv4 reaches an app that only has an IPv6 address through IPv4 loopback, which
    /// such an app accepts as `::ffff:a.b.c.d` unless it is IPv6-only. The other way round there is
    /// no such path.
    pub fn new(client: Client, apps: &Apps, missing: MissingFamily) -> Result<Self, DialError> {
        let source = client.address();
        let destination = match (source.ip(), apps.ipv4, apps.ipv6) {
            (IpAddr::V4(_), Some(v4), _) => v4.into(),
            (IpAddr::V4(_), None, Some(v6)) => mapped_way(v6),
            (IpAddr::V6(_), _, Some(v6)) => v6.into(),
            (IpAddr::V6(_), Some(v4), None) if missing == MissingFamily::Unspoofed => {
                return Ok(Self {
                    client,
                    app: v4.into(),
                    current: unspoofed(v4),
                });
            }
            _ => return Err(DialError::NoFamily),
        };
        let step = if source.port() == 0 {
            Step::EphemeralPort
        } else {
            Step::AsClient
        };
        let current = Attempt {
            source: Some(source),
            destination,
            step,
        };
        match source == destination {
            // TCP would connect the socket to itself.
            true => Err(DialError::TupleTaken),
            false => Ok(Self {
                client,
                app: destination,
                current,
            }),
        }
    }

    /// The attempt to make now.
    pub fn attempt(&self) -> Attempt {
        self.current
    }

    /// Takes the error of the current attempt; Ok when there is another one to make.
    pub fn failed(&mut self, call: Call, errno: Errno) -> Result<(), DialError> {
        let next = match (self.current.step, call, errno) {
            (Step::Unspoofed, ..) => None,
            // A listener owns the port: no loopback address helps, another port does.
            (Step::AsClient, Call::Bind, Errno::EADDRINUSE) => Some(self.ephemeral()),
            // A port below net.ipv4.ip_unprivileged_port_start, and we have no capability.
            (Step::AsClient, Call::Bind, Errno::EACCES) => Some(self.ephemeral()),
            (Step::AsClient, Call::Connect, Errno::EADDRNOTAVAIL) => Some(self.other_loopback()),
            (Step::OtherLoopback, _, errno) if passes_on(errno) => Some(self.other_loopback()),
            // The app is not bound to the wildcard address.
            (Step::OtherLoopback, Call::Connect, Errno::ECONNREFUSED) => Some(self.ephemeral()),
            _ => None,
        };
        self.current = next.ok_or_else(|| dial_error(call, errno))?;
        Ok(())
    }

    /// The next other loopback address, or the ephemeral port when there is none.
    fn other_loopback(&self) -> Attempt {
        let SocketAddr::V4(to) = self.current.destination else {
            return self.ephemeral();
        };
        match to.ip().octets() {
            [127, a, b, last] if last < LAST_LOOPBACK => Attempt {
                destination: (Ipv4Addr::new(127, a, b, last + 1), to.port()).into(),
                step: Step::OtherLoopback,
                ..self.current
            },
            _ => self.ephemeral(),
        }
    }

    fn ephemeral(&self) -> Attempt {
        Attempt {
            source: Some(SocketAddr::new(self.client.address().ip(), 0)),
            destination: self.app,
            step: Step::EphemeralPort,
        }
    }
}

fn passes_on(errno: Errno) -> bool {
    matches!(errno, Errno::EADDRNOTAVAIL | Errno::EADDRINUSE)
}

fn mapped_way(app: SocketAddrV6) -> SocketAddr {
    match app.ip().to_ipv4_mapped() {
        Some(v4) => (v4, app.port()).into(),
        None => (Ipv4Addr::LOCALHOST, app.port()).into(),
    }
}

fn unspoofed(app: SocketAddrV4) -> Attempt {
    Attempt {
        source: None,
        destination: app.into(),
        step: Step::Unspoofed,
    }
}

fn dial_error(call: Call, errno: Errno) -> DialError {
    match (call, errno) {
        (Call::Bind, Errno::EADDRNOTAVAIL) => DialError::NoRoute,
        (_, Errno::EADDRNOTAVAIL | Errno::EADDRINUSE) => DialError::TupleTaken,
        (_, Errno::ECONNREFUSED | Errno::ECONNRESET) => DialError::Refused,
        (_, Errno::ETIMEDOUT) => DialError::TimedOut,
        (_, Errno::EAFNOSUPPORT | Errno::EPROTONOSUPPORT) => DialError::NoFamily,
        (_, Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::EINVAL) => DialError::NoRoute,
        (_, Errno::EPERM | Errno::EACCES) => DialError::NotPermitted,
        (_, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::ENOBUFS | Errno::EAGAIN) => {
            DialError::Exhausted
        }
        _ => DialError::Other,
    }
}

#[cfg(test)]
mod tests;
