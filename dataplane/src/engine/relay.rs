//! One direction of a connection, and how its bytes go from one socket to the other.

use nix::errno::Errno;

use super::backend::Backend;
use super::carry::{Carried, Tools, count, transmit};
use super::pace::Pace;
use super::pipes::Pipe;
use super::socket;
use crate::connection::{Side, Way};

/// What was read of one direction and not yet written, and how it is carried.
pub(super) struct Direction {
    held: Held,
    pub(super) pace: Pace,
}

enum Held {
    Nothing,
    Bytes { bytes: Box<[u8]>, start: usize },
    Piped { pipe: Pipe, left: usize },
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            held: Held::Nothing,
            pace: Pace::new(),
        }
    }
}

impl Direction {
    /// Holds a copy of these bytes, and nothing else.
    pub(super) fn hold(&mut self, bytes: &[u8]) {
        self.held = match bytes.is_empty() {
            true => Held::Nothing,
            false => Held::Bytes {
                bytes: bytes.into(),
                start: 0,
            },
        };
    }

    /// Copies what is held to the beginning of a buffer; answers how much that is.
    pub(super) fn restore(&self, buffer: &mut [u8]) -> usize {
        let Held::Bytes { bytes, start } = &self.held else {
            return 0;
        };
        let bytes = &bytes[*start..];
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }

    /// Holds nothing any more.
    pub(super) fn release(&mut self) {
        self.held = Held::Nothing;
    }
}

impl<B: Backend> Carried<B> {
    /// A pipe, if the next read is to be spliced and there is one.
    pub(super) fn pipe(&mut self, way: Way, tools: &mut Tools<'_, B>) -> Option<Pipe> {
        let relay = self.live.setup.relay;
        let source = way.source() as usize;
        let receives = std::mem::take(&mut self.receives[source]) || self.urgent[source];
        if !self.directions[way as usize].pace.splices(relay) || receives {
            return None;
        }
        let pipe = tools.pipes.take(tools.now);
        if pipe.is_none() {
            tools.counters.pipes_refused.set(tools.pipes.refused());
        }
        pipe
    }

    /// Reads once through a pipe, and writes what came at once: pages change hands, and nothing is
    /// copied. False if there was nothing.
    pub(super) fn splice(&mut self, way: Way, pipe: Pipe, tools: &mut Tools<'_, B>) -> bool {
        let n = match pipe.fill(self.end(way.source())) {
            // The end, or urgent data before it: receiving tells.
            Ok(0) => {
                self.receives[way.source() as usize] = true;
                tools.pipes.give_back(pipe);
                return false;
            }
            Ok(n) => n,
            Err(errno) => {
                tools.pipes.give_back(pipe);
                self.not_read(way, errno, tools);
                return false;
            }
        };
        self.took(way, n, tools);
        tools.counters.record_spliced(way, n);
        self.pour(way, pipe, n, tools);
        true
    }

    /// Reading came to nothing, or failed.
    pub(super) fn not_read(&mut self, way: Way, errno: Errno, tools: &mut Tools<'_, B>) {
        match errno {
            Errno::EAGAIN => {
                self.logic.read_blocked(way);
                tools.backend.await_source(self, way);
            }
            _ => self.logic.read_failed(way),
        }
    }

    pub(super) fn took(&mut self, way: Way, n: usize, tools: &Tools<'_, B>) {
        let policy = &self.live.port.policy;
        self.logic.read(way, count(n), policy, tools.now);
        let relay = self.live.setup.relay;
        self.directions[way as usize].pace.took(n, relay);
    }

    /// Writes what is held.
    pub(super) fn write_held(&mut self, way: Way, tools: &mut Tools<'_, B>) {
        let held = std::mem::replace(&mut self.directions[way as usize].held, Held::Nothing);
        match held {
            Held::Nothing => {}
            Held::Piped { pipe, left } => self.pour(way, pipe, left, tools),
            Held::Bytes { bytes, start } => {
                let written = self.write(way, &bytes[start..], tools);
                let start = start + written.unwrap_or(bytes.len());
                if start < bytes.len() {
                    self.directions[way as usize].held = Held::Bytes { bytes, start };
                }
            }
        }
    }

    /// Writes what is in a pipe until that is empty or the sink is full.
    fn pour(&mut self, way: Way, pipe: Pipe, mut left: usize, tools: &mut Tools<'_, B>) {
        self.hurry(way);
        while left > 0 {
            match pipe.empty(self.end(way.sink()), left) {
                Ok(n) => {
                    self.wrote(way, n, tools);
                    left -= n;
                }
                Err(Errno::EAGAIN) => {
                    self.blocked(way, tools);
                    self.directions[way as usize].held = Held::Piped { pipe, left };
                    return;
                }
                // The pipe goes with what is in it.
                Err(_) => return self.logic.write_failed(way),
            }
        }
        tools.pipes.give_back(pipe);
    }

    /// Writes once; None when the sink failed. A short write means that it is full.
    pub(super) fn write(
        &mut self,
        way: Way,
        bytes: &[u8],
        tools: &mut Tools<'_, B>,
    ) -> Option<usize> {
        self.hurry(way);
        let written = match transmit(self.end(way.sink()), bytes) {
            Ok(n) => n,
            Err(Errno::EAGAIN) => 0,
            Err(_) => {
                self.logic.write_failed(way);
                return None;
            }
        };
        if written > 0 {
            self.wrote(way, written, tools);
        }
        if written < bytes.len() {
            self.blocked(way, tools);
        }
        Some(written)
    }

    pub(super) fn wrote(&mut self, way: Way, n: usize, tools: &Tools<'_, B>) {
        let policy = &self.live.port.policy;
        self.logic.wrote(way, count(n), policy, tools.now);
        tools.counters.record_relayed(way, n);
    }

    /// The first bytes to the app go at once anyway, nothing being on its way before them: a
    /// connection of one request needs no TCP_NODELAY. Accepted sockets have it from their listener.
    pub(super) fn hurry(&mut self, way: Way) {
        if way == Way::ToApp && !self.hurries && self.logic.moved(way) > 0 {
            self.hurries = true;
            socket::send_at_once(self.end(Side::App));
        }
    }
}

/// Every connection has two.
const _: () = assert!(size_of::<Direction>() <= 64);
