//! A netlink socket: requests, dumps and batches, with the kernel's own words when it refuses.
//!
//! Nothing here waits: the kernel has answered before `send` returns. A socket belongs to the
//! namespace of the thread that opened it.

use std::{fmt, io};

use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;

use super::attribute;

/// Why the kernel said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The error number.
    pub errno: Errno,
    /// The kernel's sentence about it, if it has one.
    pub detail: Option<String>,
    /// Which message of a batch it was, from 0.
    pub message: usize,
}

/// One message, without the netlink header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags`, besides REQUEST. With `NLM_F_ACK` the kernel's verdict is waited for.
    pub flags: i32,
    /// The fixed part and the attributes.
    pub body: Vec<u8>,
}

/// An open socket of one netlink protocol.
pub(super) struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// One message of the kernel: its type, its flags, its number and what follows the header.
struct Answer<'a> {
    kind: i32,
    flags: i32,
    sequence: u32,
    body: &'a [u8],
}

const HEADER: usize = 16;
/// `NLMSGERR_ATTR_MSG`.
const TEXT: u16 = 1;
/// How often a list is read again that changed while it was read.
const ATTEMPTS: usize = 5;

impl Netlink {
    /// Opens a socket of a `NETLINK_*` protocol in the calling thread's namespace.
    pub(super) fn open(protocol: isize) -> Result<Self, Refused> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_non_blocking(true)?;
        socket.set_cap_ack(true)?;
        socket.set_ext_ack(true)?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Sends all messages at once and reads the verdicts; the first refusal is returned.
    pub(super) fn send(&mut self, messages: &[Message]) -> Result<(), Refused> {
        let first = self.sequence + 1;
        let mut bytes = Vec::new();
        for message in messages {
            self.push(&mut bytes, message, libc::NLM_F_REQUEST);
        }
        self.socket.send(&bytes, 0)?;
        let expected = messages
            .iter()
            .filter(|m| m.flags & libc::NLM_F_ACK != 0)
            .count();
        let mut verdicts = 0;
        while verdicts < expected {
            let (datagram, _) = self.socket.recv_from_full()?;
            for answer in answers(&datagram).filter(|answer| answer.kind == libc::NLMSG_ERROR) {
                answer.verdict(first)?;
                verdicts += 1;
            }
        }
        Ok(())
    }

    /// Asks for a list and returns the bodies of the messages of type `wanted`.
    pub(super) fn dump(&mut self, request: &Message, wanted: u16) -> Result<Vec<Vec<u8>>, Refused> {
        for _ in 0..ATTEMPTS {
            let (bodies, whole) = self.dump_once(request, wanted)?;
            if whole {
                return Ok(bodies);
            }
        }
        Err(Errno::EINTR.into())
    }

    fn dump_once(
        &mut self,
        request: &Message,
        wanted: u16,
    ) -> Result<(Vec<Vec<u8>>, bool), Refused> {
        let mut bytes = Vec::new();
        self.push(&mut bytes, request, libc::NLM_F_REQUEST | libc::NLM_F_DUMP);
        self.socket.send(&bytes, 0)?;
        let (mut bodies, mut whole) = (Vec::new(), true);
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            for answer in answers(&datagram).filter(|answer| answer.sequence == self.sequence) {
                whole &= answer.flags & libc::NLM_F_DUMP_INTR == 0;
                match answer.kind {
                    libc::NLMSG_DONE => {
                        return answer.verdict(self.sequence).map(|()| (bodies, whole));
                    }
                    libc::NLMSG_ERROR => answer.verdict(self.sequence)?,
                    kind if kind == i32::from(wanted) => bodies.push(answer.body.to_vec()),
                    _ => {}
                }
            }
        }
    }

    fn push(&mut self, bytes: &mut Vec<u8>, message: &Message, flags: i32) {
        self.sequence += 1;
        let length = u32::try_from(HEADER + message.body.len()).unwrap_or(u32::MAX);
        let flags = u16::try_from(message.flags | flags).unwrap_or(u16::MAX);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(message.kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(&message.body);
        attribute::align(bytes);
    }
}

impl Answer<'_> {
    /// The error number both NLMSG_ERROR and NLMSG_DONE begin with; 0 is success.
    fn verdict(&self, first: u32) -> Result<(), Refused> {
        let code = self
            .body
            .first_chunk()
            .map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        if code == 0 {
            return Ok(());
        }
        let message = self.sequence.wrapping_sub(first);
        Err(Refused {
            errno: Errno::from_raw(-code),
            detail: self.text(),
            message: usize::try_from(message).unwrap_or_default(),
        })
    }

    fn text(&self) -> Option<String> {
        // The request's header stands between the number and the attributes of an error.
        let start = if self.kind == libc::NLMSG_ERROR {
            4 + HEADER
        } else {
            4
        };
        if self.flags & libc::NLM_F_ACK_TLVS == 0 {
            return None;
        }
        let attributes = attribute::parse(self.body.get(start..)?);
        attribute::find(&attributes, TEXT).map(attribute::string)
    }
}

/// The messages of one datagram.
fn answers(mut datagram: &[u8]) -> impl Iterator<Item = Answer<'_>> {
    std::iter::from_fn(move || {
        let header: &[u8; HEADER] = datagram.first_chunk()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([a, b, c, d])).ok()?;
        let body = datagram.get(HEADER..length)?;
        let next = length.next_multiple_of(4).min(datagram.len());
        datagram = &datagram[next..];
        Some(Answer {
            kind: u16::from_ne_bytes([e, f]).into(),
            flags: u16::from_ne_bytes([g, h]).into(),
            sequence: u32::from_ne_bytes([i, j, k, l]),
            body,
        })
    })
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Errno::from_raw(error.raw_os_error().unwrap_or_default()).into()
    }
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self {
            errno,
            detail: None,
            message: 0,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.errno.desc().to_lowercase())?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        match self.errno {
            Errno::EPERM => write!(f, "; init needs NET_ADMIN"),
            Errno::EEXIST => write!(f, "; another program made one like it, remove that first"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Refused {}
