//! A connection to the app over loopback, or why there is none.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::connection::ladder::Apps;

/// How long a check may still take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// Its end.
    pub(super) at: Instant,
    /// How long it was.
    pub(super) limit: Duration,
}

/// Why the app was not reached.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Nobody listens, or the kernel has another reason.
    #[error("the app is not there: {0}; is it up, and is `app` where it listens?")]
    Unreachable(Tried),
    /// No answer to the connect.
    #[error("{address} did not take the connection within {limit:?}; is its accept queue full?")]
    TimedOut {
        /// Where.
        address: SocketAddr,
        /// The probe's limit.
        limit: Duration,
    },
}

/// Each address and what the kernel said.
#[derive(Debug)]
pub(super) struct Tried(Vec<(SocketAddr, io::Error)>);

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (address, error) in &self.0 {
            f.write_str(between)?;
            write!(f, "{address}: {}", error.kind())?;
            between = ", ";
        }
        Ok(())
    }
}

/// Connects: IPv4 first, then IPv6 if that is refused. Nothing is remembered: an app may come up on
/// either.
pub(super) async fn connect(
    apps: Apps,
    deadline: Deadline,
) -> Result<(TcpStream, SocketAddr), Error> {
    let addresses = [
        apps.ipv4.map(SocketAddr::from),
        apps.ipv6.map(SocketAddr::from),
    ];
    let mut tried = Vec::new();
    for address in addresses.into_iter().flatten() {
        match timeout_at(deadline.at, to(address)).await {
            Ok(Ok(stream)) => return Ok((stream, address)),
            Ok(Err(error)) => tried.push((address, error)),
            Err(_) => {
                let limit = deadline.limit;
                return Err(Error::TimedOut { address, limit });
            }
        }
    }
    Err(Error::Unreachable(Tried(tried)))
}

/// Where nobody listens on a port that the kernel gives to clients, a connection can meet itself: the
/// kernel chooses the port it connects to. That is nobody, too.
async fn to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    if stream.local_addr()? != address {
        return Ok(stream);
    }
    // Reset: a close in order would keep the app from its port for a minute.
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    Err(io::ErrorKind::ConnectionRefused.into())
}
