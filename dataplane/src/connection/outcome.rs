//! How a connection ended. Closed sets: these words are metric labels, and dashboards name them.

use proxyunwrap_header::Invalid;

use super::claim;

/// How a connection ended, once, from accept to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Both directions ended in order.
    Ok,
    /// The peer reset the connection while it was relayed.
    PeerReset,
    /// The app reset the connection while it was relayed.
    AppReset,
    /// Nothing moved for the idle time-out.
    Idle,
    /// Cut at the drain deadline.
    Drained,
    /// The peer closed without a byte: a TCP health check.
    EmptyProbe,
    /// The peer is in no list; nothing was read.
    Untrusted,
    /// The beginning was not what the rule for the peer asks for.
    BadHeader(HeaderError),
    /// The header names a client that may not be dialled for.
    RefusedClient(claim::Refusal),
    /// The app was not reached.
    DialFailed(DialError),
}

/// Why the beginning of a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderError {
    /// The header breaks the specification or a configured limit.
    Invalid(Invalid),
    /// No complete header before the deadline.
    TimedOut,
    /// The peer closed, or failed, inside the header.
    Truncated,
    /// A header where none is allowed.
    Forbidden,
    /// A header that names no client (LOCAL, UNKNOWN, UNSPEC), where that is refused.
    WithoutClient,
    /// Too many connections without a header: the oldest made room.
    Evicted,
}

/// Why the app was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DialError {
    /// Nothing listens at the app's address.
    Refused,
    /// No answer before the connect time-out.
    TimedOut,
    /// The app has no address of the client's family, or the machine lacks the family.
    NoFamily,
    /// The client's address is not local here: `init` has not run, or its routes are gone.
    NoRoute,
    /// The client's address and port are taken, and so is every step of the ladder.
    TupleTaken,
    /// The kernel chose another source than the client's; never relayed.
    SourceMismatch,
    /// Not permitted: the mode or the mark needs a capability.
    NotPermitted,
    /// Out of descriptors, memory or buffers.
    Exhausted,
    /// Another error of the kernel.
    Other,
}

impl Outcome {
    /// Labels of `connections_total`; details have series of their own.
    pub const LABELS: [&'static str; 10] = [
        "ok",
        "peer_reset",
        "app_reset",
        "idle",
        "drained",
        "empty_probe",
        "untrusted",
        "bad_header",
        "refused_client",
        "dial_failed",
    ];

    /// Place of this outcome in [`Self::LABELS`].
    pub fn index(self) -> usize {
        match self {
            Self::Ok => 0,
            Self::PeerReset => 1,
            Self::AppReset => 2,
            Self::Idle => 3,
            Self::Drained => 4,
            Self::EmptyProbe => 5,
            Self::Untrusted => 6,
            Self::BadHeader(_) => 7,
            Self::RefusedClient(_) => 8,
            Self::DialFailed(_) => 9,
        }
    }

    /// Value of the `outcome` label.
    pub fn label(self) -> &'static str {
        Self::LABELS[self.index()]
    }

    /// The detail behind the label, where there is one.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::BadHeader(error) => Some(error.reason()),
            Self::RefusedClient(refusal) => Some(refusal.reason()),
            Self::DialFailed(error) => Some(error.reason()),
            Self::Ok | Self::PeerReset | Self::AppReset | Self::Idle => None,
            Self::Drained | Self::EmptyProbe | Self::Untrusted => None,
        }
    }

    /// Whether an errors-only access log has a line for it. Health checks and resets are everyday
    /// traffic; an untrusted peer is counted, not shouted.
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Self::BadHeader(_) | Self::RefusedClient(_) | Self::DialFailed(_)
        )
    }
}

impl HeaderError {
    /// The errors that are not the parser's.
    pub const OURS: [Self; 5] = [
        Self::TimedOut,
        Self::Truncated,
        Self::Forbidden,
        Self::WithoutClient,
        Self::Evicted,
    ];

    /// Value of the `reason` label of `header_errors_total`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid(invalid) => invalid.reason(),
            Self::TimedOut => "timed_out",
            Self::Truncated => "truncated",
            Self::Forbidden => "forbidden",
            Self::WithoutClient => "without_client",
            Self::Evicted => "evicted",
        }
    }

    /// Every error, the parser's first: the order of the counters.
    pub fn all() -> impl Iterator<Item = Self> {
        Invalid::ALL
            .iter()
            .map(|invalid| Self::Invalid(*invalid))
            .chain(Self::OURS)
    }
}

impl DialError {
    /// Every error, for the metric's labels.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::TimedOut,
        Self::NoFamily,
        Self::NoRoute,
        Self::TupleTaken,
        Self::SourceMismatch,
        Self::NotPermitted,
        Self::Exhausted,
        Self::Other,
    ];

    /// Value of the `reason` label of `dial_errors_total`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::NoFamily => "no_family",
            Self::NoRoute => "no_route",
            Self::TupleTaken => "tuple_taken",
            Self::SourceMismatch => "source_mismatch",
            Self::NotPermitted => "not_permitted",
            Self::Exhausted => "exhausted",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_reason_is_its_own_word() {
        let mut words: Vec<_> = HeaderError::all().map(HeaderError::reason).collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
    }

    #[test]
    fn an_untrusted_peer_is_counted_not_shouted() {
        assert!(!Outcome::Untrusted.is_error());
        assert!(Outcome::BadHeader(HeaderError::TimedOut).is_error());
    }
}
