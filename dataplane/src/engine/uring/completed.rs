//! What was completed, put down with its connection, and what follows from it.

use nix::errno::Errno;
use nix::poll::PollFlags;

use super::super::carry::{Carried, Tools};
use super::aspect::Aspect;
use super::{Completions, Outbox};
use crate::connection::{Side, Way};
use crate::sys::ring::{Done, Token};

impl Carried<Completions> {
    /// Puts down what was completed.
    pub(super) fn put_down(&mut self, side: Side, token: Token, done: Done) {
        match done {
            Done::Received {
                result,
                more,
                goes_on,
            } => {
                let inbox = &mut self.link.inboxes[side as usize];
                inbox.put(result, more, goes_on);
                self.dead[side as usize] |= matches!(inbox.end, Some(Err(_)));
                self.logic.ready(side, true, false);
            }
            Done::Sent(result, buffer) => {
                let way = Way::BOTH.into_iter().find(|way| way.source() == side);
                let Some(way) = way else { return };
                self.link.outboxes[way as usize] = Outbox::Sent(result, buffer);
                self.logic.ready(way.sink(), false, true);
            }
            Done::Polled(conditions, more) => self.polled(side, token, conditions, more),
        }
    }

    /// Nothing was asked for, and nothing is there.
    pub(super) fn ask(&mut self, way: Way, tools: &mut Tools<'_, Completions>) {
        let side = way.source();
        if let Some(pipe) = self.pipe(way, tools) {
            // Should there be no pipe the next time.
            self.link.inboxes[side as usize].bulky = true;
            let told = std::mem::take(&mut self.link.told[side as usize]);
            if !self.splice(way, pipe, tools) && told {
                // There is something that splice(2) does not take: urgent data.
                self.receives[side as usize] = true;
                self.logic.ready(side, true, false);
            }
            return;
        }
        match self.link.inboxes[side as usize].bulky {
            true => {
                let size = self.directions[way as usize].pace.read_size();
                tools.backend.ask_once(self, side, size);
            }
            false => tools.backend.ask_many(self, side),
        }
        self.logic.read_blocked(way);
    }

    fn polled(
        &mut self,
        side: Side,
        token: Token,
        conditions: Result<PollFlags, Errno>,
        more: bool,
    ) {
        let Some(aspect) = Aspect::of(token) else {
            return;
        };
        // A poll that ended for want of memory asks the socket itself.
        let mut conditions = conditions.unwrap_or(PollFlags::POLLHUP);
        if !more {
            self.link.polls[side as usize] &= !aspect.bit();
            conditions |= aspect.wanted();
        }
        if conditions.contains(PollFlags::POLLERR) {
            self.dead[side as usize] = true;
            self.logic.failed(side);
        }
        let failed = conditions.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
        let readable = failed || conditions.contains(PollFlags::POLLIN);
        let writable = failed || conditions.contains(PollFlags::POLLOUT);
        self.link.told[side as usize] |= aspect == Aspect::Readable;
        if side == Side::App && self.logic.is_dialing() {
            self.dial_answered |= writable;
        } else {
            self.logic.ready(side, readable, writable);
        }
    }

    /// What the sink did not take is copied, so that the buffer is free for others.
    pub(super) fn sent(
        &mut self,
        way: Way,
        result: Result<u32, Errno>,
        buffer: &[u8],
        tools: &mut Tools<'_, Completions>,
    ) {
        let n = match result {
            Ok(n) => (n as usize).min(buffer.len()),
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(_) => return self.logic.write_failed(way),
        };
        if n > 0 {
            self.wrote(way, n, tools);
        }
        let direction = &mut self.directions[way as usize];
        if n == buffer.len() {
            return direction.pace.kept_up(n);
        }
        direction.hold(&buffer[n..]);
        direction.pace.refused();
        self.blocked(way, tools);
    }
}
