//! What to accept where the specification leaves a choice.

/// Settings of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether the text form is accepted. It never is in a datagram: it only knows TCP.
    pub v1: bool,
    /// Whether the binary form is accepted.
    pub v2: bool,
    /// Bytes of the longest v2 header accepted, the first 16 included. A buffer of this size
    /// holds it. v1 has its own limit, [`V1_MAX_LEN`](crate::V1_MAX_LEN).
    pub max_len: usize,
    /// What the port carries.
    pub transport: Transport,
    /// How closely v2 extensions are looked at.
    pub tlvs: TlvRule,
    /// Whether a bare IPv4 address may stand in a v1 TCP6 line.
    ///
    /// The specification forbids it. nginx's stream module writes it when the client and the
    /// address it connected to are of different families.
    pub tcp6_v4_literal: bool,
}

impl Rules {
    /// Both versions on a TCP port, 4096 bytes, strict.
    pub const DEFAULT: Self = Self {
        v1: true,
        v2: true,
        max_len: 4096,
        transport: Transport::Stream,
        tlvs: TlvRule::Strict,
        tcp6_v4_literal: false,
    };

    /// Bytes of the longest header these rules accept; a buffer of this size holds any.
    #[must_use]
    pub const fn longest(&self) -> usize {
        let v1 = if self.accepts_v1() {
            crate::V1_MAX_LEN
        } else {
            0
        };
        let v2 = if self.v2 { self.max_len } else { 0 };
        if v1 > v2 { v1 } else { v2 }
    }

    pub(crate) const fn accepts_v1(&self) -> bool {
        self.v1 && matches!(self.transport, Transport::Stream)
    }
}

/// [`Rules::DEFAULT`].
impl Default for Rules {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a port carries. A header that names the other one is accepted without its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    #[default]
    Stream,
    /// UDP.
    Dgram,
}

/// How closely the extensions of a v2 header are looked at.
///
/// A checksum that can be found is verified under both: the specification says MUST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TlvRule {
    /// A TLV, or a part of an SSL TLV, that runs past its end, trailing bytes that are none, and
    /// a unique id over 128 bytes refuse the header. LOCAL headers and those of the unspecified
    /// family are exempt: their content is to be ignored.
    #[default]
    Strict,
    /// Skipped by length. Only when the bytes can be read as TLVs to the last one are they
    /// searched, and for a checksum only.
    Skip,
}
