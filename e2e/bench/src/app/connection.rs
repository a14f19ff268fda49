//! One connection of the app: what it is for, and what its client has not taken yet.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, recv, send};
use socket2::Socket;

use super::{SINK, SOURCE, WHO};
use crate::load::{BLOCK, PING};

/// What a connection waits for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Same,
    Read,
    Write,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Unknown,
    Echo,
    Sink,
    Source,
    Who,
}

#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    purpose: Purpose,
    /// What was received and not sent back, from `sent` on. Empty as long as the client keeps up.
    pending: Vec<u8>,
    sent: usize,
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            purpose: Purpose::Unknown,
            pending: Vec::new(),
            sent: 0,
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(super) fn go_on(&mut self, ready: EpollFlags, scratch: &mut [u8]) -> Next {
        if ready.contains(EpollFlags::EPOLLOUT) {
            return self.send_pending();
        }
        let read = recv(self.socket.as_raw_fd(), scratch, MsgFlags::MSG_DONTWAIT);
        match read {
            Ok(0) => Next::End,
            Ok(count) => self.received(&scratch[..count]),
            Err(Errno::EAGAIN | Errno::EINTR) => Next::Same,
            Err(_) => Next::End,
        }
    }

    fn received(&mut self, bytes: &[u8]) -> Next {
        if self.purpose == Purpose::Unknown {
            self.purpose = purpose(bytes[0]);
        }
        match self.purpose {
            Purpose::Unknown | Purpose::Echo => self.echo(bytes),
            Purpose::Sink => Next::Same,
            Purpose::Source => {
                self.pending = PING.repeat(BLOCK / PING.len());
                Next::Write
            }
            Purpose::Who => self.say_who(),
        }
    }

    fn echo(&mut self, bytes: &[u8]) -> Next {
        match self.send(bytes) {
            Ok(count) if count == bytes.len() => Next::Same,
            Ok(count) => {
                self.pending.clear();
                self.pending.extend_from_slice(&bytes[count..]);
                self.sent = 0;
                Next::Write
            }
            Err(_) => Next::End,
        }
    }

    fn send_pending(&mut self) -> Next {
        let Ok(count) = self.send(&self.pending[self.sent..]) else {
            return Next::End;
        };
        self.sent += count;
        match self.purpose {
            _ if self.sent < self.pending.len() => Next::Same,
            Purpose::Source => {
                self.sent = 0;
                Next::Same
            }
            Purpose::Unknown | Purpose::Echo | Purpose::Sink | Purpose::Who => Next::Read,
        }
    }

    fn say_who(&self) -> Next {
        let who = self
            .socket
            .peer_addr()
            .ok()
            .and_then(|peer| peer.as_socket());
        if let Some(who) = who {
            let _ = self.send(format!("{who}\n").as_bytes());
        }
        Next::End
    }

    /// How much the kernel took.
    fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        match send(self.socket.as_raw_fd(), bytes, flags) {
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
            sent => sent,
        }
    }
}

fn purpose(first: u8) -> Purpose {
    match first {
        SINK => Purpose::Sink,
        SOURCE => Purpose::Source,
        WHO => Purpose::Who,
        _ => Purpose::Echo,
    }
}
