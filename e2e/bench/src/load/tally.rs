//! What a run has seen, and what went wrong in it.

use std::collections::BTreeMap;

use super::histogram::Histogram;

/// What can go wrong with a connection. A closed set: the names in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection was refused, or no address was free for it.
    Connect,
    /// It ended before the answer was complete.
    Closed,
    /// Nothing came for longer than anybody would wait.
    Silent,
    /// A send took fewer bytes than a small message has.
    Short,
    /// Other bytes came back than were sent.
    Corrupt,
    /// The load could not be offered as scheduled: too much was unanswered already.
    Behind,
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::Connect,
        Self::Closed,
        Self::Silent,
        Self::Short,
        Self::Corrupt,
        Self::Behind,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::Short => "short",
            Self::Corrupt => "corrupt",
            Self::Behind => "behind",
        }
    }
}

/// Counts of one thread, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Answers, or connections that had theirs.
    pub(crate) messages: u64,
    /// Bytes that the kernel took from us.
    pub(crate) sent: u64,
    /// Bytes that came back.
    pub(crate) received: u64,
    /// How long each of the messages took.
    pub(crate) latency: Histogram,
    /// Length of the measured part.
    pub(crate) seconds: f64,
    /// Connections that began, each with a client of its own.
    pub(crate) clients: u64,
    faults: [u64; Fault::ALL.len()],
}

impl Tally {
    /// An empty one, after so many clients were named.
    pub(crate) fn naming(clients: u64) -> Self {
        Self {
            clients,
            ..Self::default()
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    /// Forgets the warm-up. Faults stay: one during the warm-up is one, too.
    pub(crate) fn begin(&mut self) {
        (self.messages, self.sent, self.received) = (0, 0, 0);
        self.latency.clear();
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.sent += other.sent;
        self.received += other.received;
        self.latency.merge(&other.latency);
        self.seconds = self.seconds.max(other.seconds);
        self.clients += other.clients;
        for (own, other) in self.faults.iter_mut().zip(other.faults) {
            *own += other;
        }
    }

    /// How often each fault happened; those that did not are left out.
    pub(crate) fn faults(&self) -> BTreeMap<String, u64> {
        let named = Fault::ALL.iter().zip(self.faults);
        let happened = named.filter(|(_, count)| *count > 0);
        happened
            .map(|(fault, count)| (fault.name().to_owned(), count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_warm_up_is_forgotten_but_not_its_faults() {
        let mut tally = Tally {
            messages: 7,
            ..Tally::default()
        };
        tally.latency.record(Duration::from_micros(5));
        tally.fault(Fault::Closed);
        tally.begin();
        assert_eq!((tally.messages, tally.latency.quantile(0.5)), (0, None));
        assert_eq!(tally.faults(), BTreeMap::from([("closed".to_owned(), 1)]));
    }

    #[test]
    fn threads_add_up_and_their_time_does_not() {
        let mut left = Tally {
            messages: 7,
            seconds: 2.0,
            ..Tally::default()
        };
        let right = Tally {
            messages: 5,
            seconds: 2.1,
            ..Tally::default()
        };
        left.merge(&right);
        assert_eq!((left.messages, left.seconds), (12, 2.1));
    }
}
