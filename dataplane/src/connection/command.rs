//! What a connection's logic tells an engine to do, and the words for its two ends.

use super::ladder::Attempt;
use super::outcome::Outcome;

/// A direction of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the peer to the app.
    ToApp,
    /// From the app to the peer.
    ToPeer,
}

/// An end of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The socket we accepted.
    Peer,
    /// The socket we dialled.
    App,
}

/// What the engine is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Receive more of the beginning; report with `received`, `header_blocked` or `peer_ended`.
    ReceiveHeader,
    /// Dial; report with `dialing`, `dialed` or `dial_failed`.
    Dial(Attempt),
    /// Read once; report with `read`, `read_blocked` or `read_failed`.
    Read(Way),
    /// Write what is held; report with `wrote`, `write_blocked` or `write_failed`.
    Write(Way),
    /// Shut the sink's sending side; report with `shut` or `write_failed`.
    Shut(Way),
    /// Nothing, until `ready` or the deadline.
    Wait,
    /// The connection is over.
    End(Outcome, Ending),
}

/// How the sockets are closed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order.
    Close,
    /// With a reset, so that neither side takes the end for a complete stream.
    Reset,
}

impl Way {
    /// Both, in the order of arrays indexed by `way as usize`.
    pub const BOTH: [Self; 2] = [Self::ToApp, Self::ToPeer];

    /// Value of the `direction` label.
    pub fn label(self) -> &'static str {
        match self {
            Self::ToApp => "to_app",
            Self::ToPeer => "to_client",
        }
    }

    /// The opposite direction.
    pub fn other(self) -> Self {
        match self {
            Self::ToApp => Self::ToPeer,
            Self::ToPeer => Self::ToApp,
        }
    }

    /// Where its bytes come from.
    pub fn source(self) -> Side {
        match self {
            Self::ToApp => Side::Peer,
            Self::ToPeer => Side::App,
        }
    }

    /// Where its bytes go.
    pub fn sink(self) -> Side {
        match self {
            Self::ToApp => Side::App,
            Self::ToPeer => Side::Peer,
        }
    }
}

impl Side {
    /// How a connection ends that this side reset.
    pub fn reset(self) -> Outcome {
        match self {
            Self::Peer => Outcome::PeerReset,
            Self::App => Outcome::AppReset,
        }
    }
}
