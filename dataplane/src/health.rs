//! Whether we can do our job: a connection over loopback from a foreign address, tried for real.
//!
//! Rules may vanish while we run (another init, a CNI): so the test is repeated, and readiness says
//! what is wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use caps::{CapSet, Capability};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use socket2::{Domain, Socket, Type};

use crate::config::{Config, file};
use crate::connection::claim::Own;
use crate::routes::{self, Family, SourceMode, spoof_works};

/// Between tests that pass.
pub const CALM: Duration = Duration::from_secs(10);

/// Between tests while something is wrong.
pub const ALARM: Duration = Duration::from_secs(1);

/// A client's address for tests: TEST-NET-1 (RFC 5737).
const FOREIGN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// What readiness is made of.
#[derive(Debug, Default)]
pub struct Health {
    draining: AtomicBool,
    /// None before the first test.
    problems: Mutex<Option<Vec<String>>>,
}

impl Health {
    /// From now on not ready, for good.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether `drain` was called.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Takes the problems of a test; true when they are others than before.
    pub fn record(&self, problems: Vec<String>) -> bool {
        let mut current = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = current.as_ref() != Some(&problems);
        *current = Some(problems);
        changed
    }

    /// Why we are not ready; empty when we are.
    pub fn problems(&self) -> Vec<String> {
        if self.is_draining() {
            return vec!["draining".to_owned()];
        }
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems
            .clone()
            .unwrap_or_else(|| vec!["the self-test has not ended yet".to_owned()])
    }
}

/// The families of clients that the configured apps can have on this machine.
pub fn families(config: &Config) -> Vec<Family> {
    let v6 = config
        .ports
        .iter()
        .any(|port| port.policy.apps.ipv6.is_some())
        && has_ipv6();
    if v6 {
        vec![Family::V4, Family::V6]
    } else {
        vec![Family::V4]
    }
}

/// Tries the spoofed path, and says what is missing when it fails; blocks for two seconds a family
/// at most.
pub fn test(families: &[Family], mode: SourceMode) -> Vec<String> {
    let test = |family: &Family| {
        let error = anyhow::Error::from(spoof_works(*family, mode).err()?);
        Some(format!("cannot dial the app as a client: {error:#}"))
    };
    let mut problems: Vec<_> = families.iter().filter_map(test).collect();
    if !problems.is_empty() {
        problems.extend(routes::missing(mode).unwrap_or_default());
        problems.push("run `init` in this namespace: it adds only what is missing".to_owned());
    }
    problems
}

/// Whether the machine has IPv6 loopback.
pub fn has_ipv6() -> bool {
    UdpSocket::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, 0))).is_ok()
}

/// The mode to use for what was written. `auto` means the routes of `init` if they are there, else
/// `IP_TRANSPARENT` if we may, else the routes all the same: readiness then says that they lack.
pub fn source_mode(written: file::SourceMode) -> SourceMode {
    match written {
        file::SourceMode::Routed => SourceMode::Routed,
        file::SourceMode::Transparent => SourceMode::Transparent,
        file::SourceMode::Auto if binds_foreign() || !may_be_transparent() => SourceMode::Routed,
        file::SourceMode::Auto => SourceMode::Transparent,
    }
}

/// Without `init`, bind() of an address that is not ours is EADDRNOTAVAIL (`inet_bind`).
fn binds_foreign() -> bool {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None);
    socket
        .and_then(|socket| socket.bind(&SocketAddr::new(FOREIGN, 0).into()))
        .is_ok()
}

fn may_be_transparent() -> bool {
    let either = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
    either
        .into_iter()
        .any(|cap| caps::has_cap(None, CapSet::Permitted, cap).unwrap_or(false))
}

/// This namespace's addresses, loopback's left out: claims of those are refused as such.
pub fn own_addresses() -> Own {
    let mut own = Own::default();
    for entry in getifaddrs().into_iter().flatten() {
        if entry.flags.contains(InterfaceFlags::IFF_LOOPBACK) {
            continue;
        }
        let Some(address) = entry.address else {
            continue;
        };
        if let Some(v4) = address.as_sockaddr_in() {
            own.addresses.push(v4.ip().into());
            let mask = entry.netmask.as_ref().and_then(|m| m.as_sockaddr_in());
            own.broadcasts
                .extend(mask.into_iter().flat_map(|m| ends_of(v4.ip(), m.ip())));
        } else if let Some(v6) = address.as_sockaddr_in6() {
            own.addresses.push(v6.ip().into());
        }
    }
    own.addresses.sort_unstable();
    own.addresses.dedup();
    own
}

/// The lowest and the highest address of a network that has more than two: broadcasts, whether or
/// not the interface names one (`fib_add_ifaddr`, net/ipv4/fib_frontend.c; the lowest up to Linux
/// 5.13).
fn ends_of(address: Ipv4Addr, mask: Ipv4Addr) -> Vec<Ipv4Addr> {
    let network = address & mask;
    match mask.to_bits().count_ones() {
        31.. => Vec::new(),
        _ => vec![network, network | !mask],
    }
}
