//! What a header says.

use core::net::SocketAddr;

use crate::tlv::Tlvs;

/// How far the bytes at hand go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// At least this many bytes are missing, never zero.
    ///
    /// No valid header ends sooner, so reading exactly this many takes no byte of the payload.
    /// From a v2 header's byte 16 on it is exactly what is missing.
    NeedMore(usize),
    /// The header is whole.
    Complete(Header<'a>),
}

/// One whole header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Which of the two forms it was written in.
    pub version: Version,
    /// Between whom the connection is.
    pub endpoints: Endpoints,
    /// Bytes of the whole header; the payload starts here.
    pub len: usize,
    pub(crate) tlvs: Tlvs<'a>,
}

impl<'a> Header<'a> {
    /// The extensions of a v2 header, in the order they were written; none for v1.
    ///
    /// Under [`TlvRule::Strict`](crate::TlvRule::Strict) every item is `Ok`. Two kinds of header
    /// have no fixed place for them: see [`Endpoints::Local`] and [`UnknownKind::Unspec`].
    #[must_use]
    pub fn tlvs(&self) -> Tlvs<'a> {
        self.tlvs.clone()
    }
}

/// The form a header is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// One line of text (section 2.1).
    V1,
    /// Binary (section 2.2).
    V2,
}

impl Version {
    /// Value of the `version` label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// Between whom the connection is, by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoints {
    /// As written in the header: not normalised and not judged, so a mapped, unspecified or
    /// loopback address and port 0 come through.
    ///
    /// Both are of one family, unless [`Rules::tcp6_v4_literal`](crate::Rules::tcp6_v4_literal)
    /// let a v4 address into a TCP6 line.
    Addresses {
        /// Who opened the connection to the sender.
        client: SocketAddr,
        /// What the client connected to.
        destination: SocketAddr,
    },
    /// v2 LOCAL: the sender speaks for itself, as in a health check.
    ///
    /// The family and the block are ignored, whatever they are, and the length skips them. The
    /// AWS network load balancer announces the IPv4 family here and writes TLVs straight after
    /// byte 16; others write addresses first. So the block counts as TLVs if it can be read as
    /// such to its last byte, from its start or else from behind the addresses; if neither, the
    /// header has none. A checksum found that way has to be right.
    Local,
    /// The header names nobody we could use; the connection's own addresses are all there is.
    Unknown(UnknownKind),
}

/// Why a header names nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnknownKind {
    /// v1 `UNKNOWN`.
    V1Unknown,
    /// v2 PROXY of the unspecified family. Addresses in it are of no known size and ignored, so
    /// its block counts as TLVs if it can be read as such to its last byte; if not, the header
    /// has none. A checksum found that way has to be right.
    Unspec,
    /// v2 PROXY of the `AF_UNIX` family.
    Unix,
    /// v2 PROXY of an IP family whose transport is not the port's: datagrams on a TCP
    /// connection, a stream in a datagram, or unspecified.
    OtherTransport,
}

impl UnknownKind {
    /// A name for it, for logs and labels.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::V1Unknown => "v1_unknown",
            Self::Unspec => "unspec",
            Self::Unix => "unix",
            Self::OtherTransport => "other_transport",
        }
    }
}
