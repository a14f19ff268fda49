//! One direction of a relay: what to do next, and what came of it.
//!
//! Bytes are only counted here; the engine holds them, in a buffer or in a pipe. The promises:
//! at most one read is held at a time (back-pressure reaches the source), every byte read before
//! the end of the stream is written before the sink is shut, and nothing is written after that.

/// What this direction needs from the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read from the source; nothing is held.
    Read,
    /// Write what is held to the sink.
    Write,
    /// The source has ended and nothing is held: pass the end on.
    Shut,
    /// Nothing to do until the source is readable or the sink writable.
    Wait,
    /// This direction is over.
    Done,
}

/// How this direction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The source may send more.
    Open,
    /// The source sent its end; the sink has not been told yet.
    Ended,
    /// The end was passed on.
    Shut,
    /// One of the two sockets failed; what was held is gone.
    Broken,
}

/// One direction, from a source to a sink.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    state: State,
    /// The source had nothing the last time we asked.
    source_blocked: bool,
    /// The sink took nothing the last time we tried.
    sink_blocked: bool,
    /// Bytes read and not yet written.
    held: u32,
}

impl Flow {
    /// A direction of which `held` bytes have been read already: what followed the header.
    pub fn new(held: u32) -> Self {
        Self {
            state: State::Open,
            source_blocked: false,
            sink_blocked: false,
            held,
        }
    }

    /// What to do next.
    pub fn step(&self) -> Step {
        match (self.state, self.held) {
            (State::Shut | State::Broken, _) => Step::Done,
            (State::Ended, 0) => Step::Shut,
            (State::Open, 0) if self.source_blocked => Step::Wait,
            (State::Open, 0) => Step::Read,
            _ if self.sink_blocked => Step::Wait,
            _ => Step::Write,
        }
    }

    /// Bytes read and not yet written.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Whether this direction ended other than by the source's end.
    pub fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Whether the source's end was passed on.
    pub fn is_shut(&self) -> bool {
        self.state == State::Shut
    }

    /// Whether something is held that the sink does not take.
    pub fn is_sink_blocked(&self) -> bool {
        self.held > 0 && self.sink_blocked
    }

    /// `n` bytes came from the source; 0 is its end.
    pub fn read(&mut self, n: u32) {
        match n {
            0 => self.state = State::Ended,
            n => self.held += n,
        }
    }

    /// The sink took `n` of the held bytes.
    pub fn wrote(&mut self, n: u32) {
        debug_assert!(n <= self.held, "the engine writes what is held");
        self.held = self.held.saturating_sub(n);
    }

    /// The end was passed on to the sink.
    pub fn shut(&mut self) {
        self.state = State::Shut;
    }

    /// The source had nothing to read.
    pub fn source_blocked(&mut self) {
        self.source_blocked = true;
    }

    /// The sink took nothing.
    pub fn sink_blocked(&mut self) {
        self.sink_blocked = true;
    }

    /// The source may have something now.
    pub fn source_ready(&mut self) {
        self.source_blocked = false;
    }

    /// The sink may take something now.
    pub fn sink_ready(&mut self) {
        self.sink_blocked = false;
    }

    /// One of the sockets failed.
    pub fn broke(&mut self) {
        self.state = State::Broken;
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_followed_the_header_is_written_before_anything_is_read() {
        let mut flow = Flow::new(3);
        assert_eq!(flow.step(), Step::Write);
        flow.wrote(3);
        assert_eq!(flow.step(), Step::Read);
    }

    #[test]
    fn a_blocked_sink_stops_reading() {
        let mut flow = Flow::new(0);
        flow.read(10);
        flow.wrote(4);
        flow.sink_blocked();
        flow.source_ready();
        assert_eq!(flow.step(), Step::Wait);
        flow.sink_ready();
        assert_eq!(flow.step(), Step::Write);
    }

    #[test]
    fn the_end_is_passed_on_after_the_last_byte() {
        let mut flow = Flow::new(0);
        flow.read(2);
        flow.read(0);
        assert_eq!(flow.step(), Step::Write);
        flow.wrote(2);
        assert_eq!(flow.step(), Step::Shut);
        flow.shut();
        assert_eq!((flow.step(), flow.is_broken()), (Step::Done, false));
    }

    #[test]
    fn a_broken_flow_is_over_and_holds_nothing() {
        let mut flow = Flow::new(9);
        flow.broke();
        assert_eq!(
            (flow.step(), flow.held(), flow.is_broken()),
            (Step::Done, 0, true)
        );
    }
}
