//! What has to be there before anything runs: ports and clients.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use kube::{Client, Config};
use tokio::net::TcpListener;

use super::Error;
use crate::leader;

/// An API server is near, or it is away.
const CONNECT: Duration = Duration::from_secs(5);

/// Longest wait for the answer to a change.
const ANSWER: Duration = Duration::from_secs(15);

/// Clients of the API server, by how patient they are.
pub(super) struct Clients {
    /// For watches: an answer may go on for ever.
    pub(super) watch: Client,
    /// For changes.
    pub(super) write: Client,
    /// For the Lease.
    pub(super) lease: Client,
}

impl Clients {
    pub(super) async fn new() -> Result<Self, Error> {
        let mut config = Config::infer().await?;
        config.connect_timeout = Some(CONNECT);
        let watch = Client::try_from(config.clone())?;
        let lease = leader::client(config.clone())?;
        config.read_timeout = Some(ANSWER);
        config.write_timeout = Some(ANSWER);
        config.reset_reader_on_write = true;
        Ok(Self {
            watch,
            write: Client::try_from(config)?,
            lease,
        })
    }
}

/// Listens. A node without IPv6 takes every address of IPv4 for every address.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let listened = match TcpListener::bind(address).await {
        Err(error) if address.ip().is_unspecified() && lacks_family(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        other => other,
    };
    listened.map_err(|error| Error::Listen(address, error))
}

/// EAFNOSUPPORT or EADDRNOTAVAIL: the kernel was built, or booted, without IPv6.
fn lacks_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(97) || error.kind() == io::ErrorKind::AddrNotAvailable
}
