//! Whom the kernel speaks of.

use super::places::Key;
use crate::connection::Side;

/// Whom an event or a completion concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One side of a connection.
    Connection(Key, Side),
    /// A listener.
    Listener(Key),
    /// The worker's mailbox.
    Mailbox,
}

impl Source {
    /// The number that the kernel hands back; it has 58 bits.
    pub(super) fn token(self) -> u64 {
        match self {
            Self::Connection(key, Side::Peer) => key.bits(),
            Self::Connection(key, Side::App) => 1 << Key::BITS | key.bits(),
            Self::Listener(key) => 2 << Key::BITS | key.bits(),
            Self::Mailbox => 3 << Key::BITS,
        }
    }

    /// Whom this number means.
    pub(super) fn of(token: u64) -> Self {
        let key = Key::from_bits(token);
        match token >> Key::BITS & 3 {
            0 => Self::Connection(key, Side::Peer),
            1 => Self::Connection(key, Side::App),
            2 => Self::Listener(key),
            _ => Self::Mailbox,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::Places;
    use super::*;

    #[test]
    fn a_token_means_whom_it_was_made_for() {
        let mut places = Places::default();
        let key = places.insert(|_| ());
        let sides = [Side::Peer, Side::App].map(|side| Source::Connection(key, side));
        for source in [sides[0], sides[1], Source::Listener(key), Source::Mailbox] {
            assert_eq!(Source::of(source.token()), source);
            assert_eq!(source.token() >> 58, 0);
        }
    }
}
