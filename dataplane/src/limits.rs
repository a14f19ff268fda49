//! How many connections this process can carry: the smallest of three numbers.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::config::file;
use crate::engine;

/// Descriptors for everything but connections: listeners, epolls, admin, logs.
const RESERVED_DESCRIPTORS: u64 = 64;

/// Descriptors of a connection: the peer's and the app's.
const DESCRIPTORS: u64 = 2;

/// Memory for everything but connections, in bytes.
const RESERVED_MEMORY: u64 = 24 << 20;

/// Memory of a connection in bytes, most of it the kernel's for two sockets.
const MEMORY: u64 = 10 << 10;

/// Where a memory limit stands: cgroup v2, then v1.
const MEMORY_FILES: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];

/// What the machine gives us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Descriptors we may have.
    pub descriptors: u64,
    /// Memory limit in bytes; None without one.
    pub memory: Option<u64>,
}

impl Machine {
    /// Raises the soft limit of descriptors to the hard one, and reads both limits.
    pub fn read() -> Self {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
        let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
        let memory = MEMORY_FILES
            .iter()
            .find_map(|file| fs::read_to_string(file).ok());
        let memory = memory.and_then(|text| text.trim().parse().ok());
        Self {
            descriptors: if raised { hard } else { soft },
            memory,
        }
    }
}

/// The limits of each of `workers` workers.
pub fn for_worker(written: &file::Limits, machine: Machine, workers: usize) -> engine::Limits {
    let descriptors = machine.descriptors.saturating_sub(RESERVED_DESCRIPTORS) / DESCRIPTORS;
    let memory = machine
        .memory
        .map(|limit| limit.saturating_sub(RESERVED_MEMORY) / MEMORY);
    let all = written.connections.map(|n| n as u64);
    let all = [Some(descriptors), memory, all]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(descriptors);
    let pending = written.pending_headers.map_or(all, |n| all.min(n as u64));
    engine::Limits {
        open: share(all, workers),
        pending: share(pending, workers),
    }
}

/// A worker's part, rounded up: at least one.
fn share(all: u64, workers: usize) -> usize {
    usize::try_from(all)
        .unwrap_or(usize::MAX)
        .div_ceil(workers)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(connections: Option<usize>, machine: Machine, want: usize) {
        let written = file::Limits {
            connections,
            pending_headers: None,
        };
        assert_eq!(for_worker(&written, machine, 2).open, want);
    }

    #[test]
    fn the_smallest_of_three_counts() {
        let machine = Machine {
            descriptors: 20_064,
            memory: Some((24 << 20) + (1_000 << 10)),
        };
        check(None, machine, 50);
        check(Some(60), machine, 30);
        check(
            None,
            Machine {
                memory: None,
                ..machine
            },
            5_000,
        );
    }

    #[test]
    fn pending_connections_never_outnumber_the_open_ones() {
        let written = file::Limits {
            connections: Some(10),
            pending_headers: Some(99),
        };
        let machine = Machine {
            descriptors: 20_064,
            memory: None,
        };
        assert_eq!(for_worker(&written, machine, 1).pending, 10);
    }
}
