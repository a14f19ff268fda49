//! One connection as a state machine without I/O.
//!
//! An engine asks [`Connection::next`] for a command, carries it out, and reports what came of it.
//! The machine never touches a socket, a clock or a buffer: epoll, io_uring, a simulator and a
//! fuzzer drive the same code. It promises that the app receives the payload exactly, that nobody
//! is dialled for without a decision of [`intake`], and that every connection ends with one
//! [`Outcome`].

pub mod claim;
mod command;
pub mod flow;
pub mod intake;
pub mod ladder;
pub mod outcome;

use std::net::SocketAddr;
use std::time::Duration;

use nix::errno::Errno;
use proxyunwrap_header::Version;

use crate::address::{Client, Peer};
use crate::trust::Rule;
use claim::Own;
pub use command::{Command, Ending, Side, Way};
use flow::Flow;
use intake::{Decision, HeaderPolicy};
use ladder::{Apps, Attempt, Call, Ladder, MissingFamily};
use outcome::{DialError, HeaderError, Outcome};

/// Milliseconds on the engine's own clock.
pub type Tick = u64;

/// What one port asks of its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What a header must be like.
    pub header: HeaderPolicy,
    /// Where the app listens.
    pub apps: Apps,
    /// What to do with a client whose family the app lacks.
    pub missing_family: MissingFamily,
    /// For one dial, all steps of the ladder together.
    pub connect_timeout: Duration,
    /// Ends a relayed connection on which nothing moved for so long; None never does.
    pub idle_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Header {
        blocked: bool,
    },
    Dial {
        ladder: Ladder,
        waiting: bool,
        tail: u32,
    },
    Relay {
        to_app: Flow,
        to_peer: Flow,
        first: Way,
    },
    Ended(Outcome, Ending),
}

/// One connection, from accept to close.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    stage: Stage,
    peer: Peer,
    rule: Rule,
    client: Option<Client>,
    version: Option<Version>,
    dialled: Option<Attempt>,
    deadline: Option<Tick>,
    moved: [u64; 2],
    /// The peer's socket has an error.
    peer_failed: bool,
}

impl Connection {
    /// A connection that was just accepted from a peer with this rule.
    pub fn new(peer: Peer, rule: Rule, policy: &Policy, now: Tick) -> Self {
        let mut connection = Self {
            stage: Stage::Header { blocked: false },
            peer,
            rule,
            client: None,
            version: None,
            dialled: None,
            deadline: Some(after(now, policy.header.timeout)),
            moved: [0; 2],
            peer_failed: false,
        };
        if rule == Rule::Pass {
            connection.dial_for(peer.into(), 0, policy, now);
        }
        connection
    }

    /// What the engine is to do next.
    pub fn next(&self) -> Command {
        match &self.stage {
            Stage::Header { blocked: false } => Command::ReceiveHeader,
            Stage::Dial {
                ladder,
                waiting: false,
                ..
            } => Command::Dial(ladder.attempt()),
            Stage::Header { blocked: true } | Stage::Dial { waiting: true, .. } => Command::Wait,
            Stage::Relay {
                to_app,
                to_peer,
                first,
            } => match relay_command(to_app, to_peer, *first) {
                Command::Wait if self.is_deserted(to_app) || is_stuck(to_app, to_peer) => {
                    Command::End(Side::Peer.reset(), Ending::Reset)
                }
                command => command,
            },
            Stage::Ended(outcome, ending) => Command::End(*outcome, *ending),
        }
    }

    /// Every byte received so far, the header's and what may follow it. Answers how many of them
    /// are the header's once that is known: the rest is payload, which the engine holds.
    pub fn received(
        &mut self,
        bytes: &[u8],
        policy: &Policy,
        own: &Own,
        now: Tick,
    ) -> Option<usize> {
        match intake::decide(self.rule, self.peer, bytes, &policy.header, own) {
            Decision::NeedMore(_) => None,
            Decision::Dial {
                client,
                skip,
                version,
            } => {
                self.version = version;
                let tail = bytes.len().saturating_sub(skip);
                self.dial_for(client, tail, policy, now);
                Some(skip)
            }
            Decision::Refuse(outcome, version) => {
                self.version = version;
                self.end(outcome, Ending::Close);
                None
            }
        }
    }

    /// The peer has sent nothing more for now.
    pub fn header_blocked(&mut self) {
        self.stage = Stage::Header { blocked: true };
    }

    /// The peer closed or failed after this many bytes of the beginning.
    pub fn peer_ended(&mut self, bytes: usize) {
        self.end(intake::ended(bytes), Ending::Close);
    }

    /// The dial is under way; `ready` on the app's side will say more.
    pub fn dialing(&mut self) {
        if let Stage::Dial { waiting, .. } = &mut self.stage {
            *waiting = true;
        }
    }

    /// The dial succeeded; `local` is the name the kernel gave our socket.
    pub fn dialed(&mut self, local: SocketAddr, policy: &Policy, now: Tick) {
        let Stage::Dial { ladder, tail, .. } = self.stage else {
            return;
        };
        if !ladder.attempt().accepts(local) {
            return self.end(
                Outcome::DialFailed(DialError::SourceMismatch),
                Ending::Reset,
            );
        }
        self.dialled = Some(ladder.attempt());
        let (to_app, to_peer) = (Flow::new(tail), Flow::new(0));
        self.stage = Stage::Relay {
            to_app,
            to_peer,
            first: Way::ToApp,
        };
        self.deadline = policy.idle_timeout.map(|idle| after(now, idle));
    }

    /// The dial failed in this call.
    pub fn dial_failed(&mut self, call: Call, errno: Errno) {
        let Stage::Dial {
            ladder, waiting, ..
        } = &mut self.stage
        else {
            return;
        };
        *waiting = false;
        if let Err(error) = ladder.failed(call, errno) {
            self.end(Outcome::DialFailed(error), Ending::Reset);
        }
    }

    /// `n` bytes were read; 0 is the end of that side's stream.
    pub fn read(&mut self, way: Way, n: u32, policy: &Policy, now: Tick) {
        self.touch(policy, now);
        self.flow(way, |flow| flow.read(n));
    }

    /// There was nothing to read.
    pub fn read_blocked(&mut self, way: Way) {
        self.flow(way, Flow::source_blocked);
    }

    /// Reading failed: that side is gone. Nothing is held, for only then we read.
    pub fn read_failed(&mut self, way: Way) {
        self.end(way.source().reset(), Ending::Reset);
    }

    /// `n` of the held bytes were written.
    pub fn wrote(&mut self, way: Way, n: u32, policy: &Policy, now: Tick) {
        self.touch(policy, now);
        self.flow(way, |flow| flow.wrote(n));
        self.moved[way as usize] += u64::from(n);
        // The directions take turns, else a peer that never pauses keeps the app's answers back.
        if let Stage::Relay { first, .. } = &mut self.stage {
            *first = way.other();
        }
    }

    /// The sink took nothing.
    pub fn write_blocked(&mut self, way: Way) {
        self.flow(way, Flow::sink_blocked);
    }

    /// Writing failed: the sink takes no more. What it sent before still goes the other way (an app
    /// may answer and close without reading everything), then the connection ends with a reset.
    pub fn write_failed(&mut self, way: Way) {
        self.flow(way, Flow::broke);
    }

    /// The sink's sending side was shut.
    pub fn shut(&mut self, way: Way) {
        self.flow(way, Flow::shut);
    }

    /// What one side's socket may do now.
    pub fn ready(&mut self, side: Side, readable: bool, writable: bool) {
        match (&mut self.stage, side) {
            (Stage::Header { blocked }, Side::Peer) => *blocked &= !readable,
            (
                Stage::Relay {
                    to_app, to_peer, ..
                },
                side,
            ) => {
                let (from, to) = match side {
                    Side::Peer => (to_app, to_peer),
                    Side::App => (to_peer, to_app),
                };
                if readable {
                    from.source_ready();
                }
                if writable {
                    to.sink_ready();
                }
            }
            _ => {}
        }
    }

    /// One side's socket has an error. Reading or writing tells which, if there is still something
    /// to read or write.
    pub fn failed(&mut self, side: Side) {
        self.peer_failed |= side == Side::Peer;
    }

    /// Whether the peer was reset after it had ended its direction: no read will tell. What it had
    /// sent goes to the app first. An app that does the same has ended its answer, and a reset
    /// would take that away from a slow peer.
    fn is_deserted(&self, to_app: &Flow) -> bool {
        self.peer_failed && to_app.held() == 0
    }

    /// When `expired` is to be called; it moves with every byte if there is an idle time-out.
    pub fn deadline(&self) -> Option<Tick> {
        self.deadline
    }

    /// The deadline has passed.
    pub fn expired(&mut self) {
        match self.stage {
            Stage::Header { .. } => {
                self.end(Outcome::BadHeader(HeaderError::TimedOut), Ending::Close);
            }
            Stage::Dial { .. } => {
                self.end(Outcome::DialFailed(DialError::TimedOut), Ending::Reset);
            }
            Stage::Relay { .. } => self.end(Outcome::Idle, Ending::Reset),
            Stage::Ended(..) => {}
        }
    }

    /// Ends the connection for a reason of the engine's: eviction, drain.
    pub fn cut(&mut self, outcome: Outcome) {
        self.end(outcome, Ending::Reset);
    }

    /// Whether the header is still missing.
    pub fn is_pending(&self) -> bool {
        matches!(self.stage, Stage::Header { .. })
    }

    /// Whether a dial is under way: the next event of the app's side is its result.
    pub fn is_dialing(&self) -> bool {
        matches!(self.stage, Stage::Dial { waiting: true, .. })
    }

    /// Who opened the connection.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Whom the app sees, once decided.
    pub fn client(&self) -> Option<Client> {
        self.client
    }

    /// The header's version; None without one.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// How the app was reached, once it was.
    pub fn dialled(&self) -> Option<Attempt> {
        self.dialled
    }

    /// Payload bytes written in this direction so far.
    pub fn moved(&self, way: Way) -> u64 {
        self.moved[way as usize]
    }

    /// The stage in one word, for `/connections`.
    pub fn stage(&self) -> &'static str {
        match self.stage {
            Stage::Header { .. } => "header",
            Stage::Dial { .. } => "dial",
            Stage::Relay { .. } => "relay",
            Stage::Ended(..) => "ended",
        }
    }

    fn dial_for(&mut self, client: Client, tail: usize, policy: &Policy, now: Tick) {
        self.client = Some(client);
        self.deadline = Some(after(now, policy.connect_timeout));
        let tail = u32::try_from(tail).unwrap_or(u32::MAX);
        match Ladder::new(client, &policy.apps, policy.missing_family) {
            Ok(ladder) => {
                self.stage = Stage::Dial {
                    ladder,
                    waiting: false,
                    tail,
                }
            }
            Err(error) => self.end(Outcome::DialFailed(error), Ending::Reset),
        }
    }

    fn flow(&mut self, way: Way, change: impl FnOnce(&mut Flow)) {
        let Stage::Relay {
            to_app, to_peer, ..
        } = &mut self.stage
        else {
            return;
        };
        change(if way == Way::ToApp { to_app } else { to_peer });
    }

    fn touch(&mut self, policy: &Policy, now: Tick) {
        if let Some(idle) = policy.idle_timeout {
            self.deadline = Some(after(now, idle));
        }
    }

    fn end(&mut self, outcome: Outcome, ending: Ending) {
        if !matches!(self.stage, Stage::Ended(..)) {
            self.stage = Stage::Ended(outcome, ending);
            self.deadline = None;
        }
    }
}

/// Whether the peer takes no more and the app neither: it may be waiting itself until somebody reads
/// what it writes, and nobody will. What is held for it is lost, as it may be by any reset.
fn is_stuck(to_app: &Flow, to_peer: &Flow) -> bool {
    to_peer.is_broken() && to_app.is_sink_blocked()
}

fn relay_command(to_app: &Flow, to_peer: &Flow, first: Way) -> Command {
    let mut both = [(Way::ToApp, to_app.step()), (Way::ToPeer, to_peer.step())];
    if first == Way::ToPeer {
        both.reverse();
    }
    for (way, step) in both {
        match step {
            // A close tells the second sink as well: nothing is held, and neither side sends any more.
            flow::Step::Shut if to_app.is_shut() || to_peer.is_shut() => {
                return Command::End(Outcome::Ok, Ending::Close);
            }
            flow::Step::Read => return Command::Read(way),
            flow::Step::Write => return Command::Write(way),
            flow::Step::Shut => return Command::Shut(way),
            flow::Step::Wait | flow::Step::Done => {}
        }
    }
    if both.iter().any(|(_, step)| *step == flow::Step::Wait) {
        return Command::Wait;
    }
    match (to_app.is_broken(), to_peer.is_broken()) {
        (false, false) => Command::End(Outcome::Ok, Ending::Close),
        (true, _) => Command::End(Side::App.reset(), Ending::Reset),
        (false, true) => Command::End(Side::Peer.reset(), Ending::Reset),
    }
}

fn after(now: Tick, time: Duration) -> Tick {
    now.saturating_add(u64::try_from(time.as_millis()).unwrap_or(Tick::MAX))
}
