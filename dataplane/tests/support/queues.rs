//! What the kernel holds of TCP streams in a namespace: proves that bytes were sent, or read.

use std::fs;

use super::namespace::Namespace;

/// Sums over the sockets of a namespace.
#[derive(Debug, Default)]
pub struct Queues {
    /// Bytes written and not yet acknowledged.
    pub unsent: u64,
    /// Bytes received and not yet read, and connections not yet accepted.
    pub unread: u64,
}

/// Of every TCP socket in `namespace`, or of those on one local port.
#[track_caller]
pub fn of(namespace: &Namespace, port: Option<u16>) -> Queues {
    let tables = namespace.enter(|| {
        let read = |name| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        ["tcp", "tcp6"].map(|name| read(name).expect("every namespace has the tables"))
    });
    let mut sum = Queues::default();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let (local, unsent, unread) = fields(line).expect("the columns of Linux' tcp4_seq_show");
        if port.is_none_or(|port| port == local) {
            sum.unsent += unsent;
            sum.unread += unread;
        }
    }
    sum
}

/// `sl local_address rem_address st tx_queue:rx_queue …`, in hex.
fn fields(line: &str) -> Option<(u16, u64, u64)> {
    let mut words = line.split_whitespace().skip(1);
    let (_, port) = words.next()?.rsplit_once(':')?;
    let (unsent, unread) = words.nth(2)?.split_once(':')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((
        u16::from_str_radix(port, 16).ok()?,
        number(unsent)?,
        number(unread)?,
    ))
}
