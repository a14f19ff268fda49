//! Drives the connection's logic as an engine would, with everything that may happen drawn from a
//! seed: fragments, short writes, blocked sockets, refused dials, ends in any order, resets.
//!
//! A failure prints its seed; `SEED=n cargo test --test simulation` runs that one alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

use std::collections::VecDeque;
use std::env;
use std::net::SocketAddr;
use std::time::Duration;

use nix::errno::Errno;
use proxyunwrap_dataplane::address::Peer;
use proxyunwrap_dataplane::connection::claim::{Claims, Own};
use proxyunwrap_dataplane::connection::intake::{HeaderPolicy, WithoutClient};
use proxyunwrap_dataplane::connection::ladder::{Apps, Call, MissingFamily, Step};
use proxyunwrap_dataplane::connection::outcome::{DialError, HeaderError, Outcome};
use proxyunwrap_dataplane::connection::{Command, Connection, Ending, Policy, Side, Tick, Way};
use proxyunwrap_dataplane::trust::Rule;
use proxyunwrap_header::Rules;

/// Seeds of an ordinary run.
const RUNS: u64 = 5_000;

/// Commands after which a connection that has not ended is stuck.
const PATIENCE: usize = 100_000;

const HEADER: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n";

/// SplitMix64: small, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end` - 1.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end.max(1) as u64).unwrap()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// What one side sends, and what it was sent.
#[derive(Default)]
struct Socket {
    /// Not sent yet.
    outgoing: VecDeque<u8>,
    /// It will reset when this many bytes are left to send.
    resets_at: Option<usize>,
    received: Vec<u8>,
    saw_end: bool,
}

/// Whether faults are drawn too.
#[derive(Clone, Copy, PartialEq)]
enum Weather {
    Calm,
    Rough,
}

struct Simulation {
    dice: Dice,
    logic: Connection,
    policy: Policy,
    now: Tick,
    peer: Socket,
    app: Socket,
    /// What the engine would hold: header bytes first, then payload in each direction.
    held: [VecDeque<u8>; 2],
    dialled: Vec<Step>,
    /// What the kernel would give our socket as its name.
    local: SocketAddr,
    weather: Weather,
}

struct Report {
    outcome: Outcome,
    ending: Ending,
    simulation: Simulation,
    payload: Vec<u8>,
    answer: Vec<u8>,
}

fn policy() -> Policy {
    Policy {
        header: HeaderPolicy {
            rules: Rules::default(),
            timeout: Duration::from_secs(5),
            without_client: WithoutClient::AsPeer,
            claims: Claims::default(),
        },
        apps: Apps {
            ipv4: Some("127.0.0.1:8080".parse().unwrap()),
            ipv6: None,
        },
        missing_family: MissingFamily::Refuse,
        connect_timeout: Duration::from_secs(5),
        idle_timeout: None,
    }
}

fn simulate(seed: u64, weather: Weather) -> Report {
    let mut dice = Dice(seed);
    let payload: Vec<u8> = (0..dice.below(5_000)).map(|_| dice.roll() as u8).collect();
    let answer: Vec<u8> = (0..dice.below(5_000)).map(|_| dice.roll() as u8).collect();
    let peer: Peer = Peer::new("10.0.0.9:40000".parse().unwrap());
    let policy = policy();
    let logic = Connection::new(peer, Rule::Require, &policy, 0);
    let mut simulation = Simulation {
        logic,
        policy,
        now: 0,
        peer: Socket {
            outgoing: HEADER.iter().chain(&payload).copied().collect(),
            ..Socket::default()
        },
        app: Socket {
            outgoing: answer.iter().copied().collect(),
            ..Socket::default()
        },
        held: Default::default(),
        dialled: Vec::new(),
        local: peer.address(),
        weather,
        dice,
    };
    simulation.draw_resets();
    let (outcome, ending) = simulation.run();
    Report {
        outcome,
        ending,
        simulation,
        payload,
        answer,
    }
}

impl Simulation {
    fn draw_resets(&mut self) {
        if self.weather == Weather::Rough {
            for side in [Side::Peer, Side::App] {
                let resets = self.dice.chance(4);
                let end = self.socket(side).outgoing.len() + 1;
                let at = self.dice.below(end);
                self.socket(side).resets_at = resets.then_some(at);
            }
        }
    }

    fn run(&mut self) -> (Outcome, Ending) {
        for _ in 0..PATIENCE {
            match self.logic.next() {
                Command::ReceiveHeader => self.receive_header(),
                Command::Dial(attempt) => {
                    self.dialled.push(attempt.step);
                    self.local = attempt.source.unwrap_or(attempt.destination);
                    self.dial();
                }
                Command::Read(way) => self.read(way),
                Command::Write(way) => self.write(way),
                Command::Shut(way) => {
                    self.socket(way.sink()).saw_end = true;
                    self.logic.shut(way);
                }
                Command::Wait => self.wait(),
                Command::End(outcome, ending) => {
                    // Nothing is unread after that, so a close ends both streams in order.
                    if outcome == Outcome::Ok {
                        (self.peer.saw_end, self.app.saw_end) = (true, true);
                    }
                    return (outcome, ending);
                }
            }
        }
        panic!("stuck in stage {}", self.logic.stage());
    }

    fn socket(&mut self, side: Side) -> &mut Socket {
        match side {
            Side::Peer => &mut self.peer,
            Side::App => &mut self.app,
        }
    }

    /// Some bytes of a side's stream; None when it resets, empty at its end.
    fn take(&mut self, side: Side) -> Option<Vec<u8>> {
        let n = 1 + self.dice.below(700);
        let socket = self.socket(side);
        let left = socket.outgoing.len();
        let n = match socket.resets_at {
            Some(at) if left <= at => return None,
            Some(at) => n.min(left - at),
            None => n.min(left),
        };
        Some(socket.outgoing.drain(..n).collect())
    }

    fn receive_header(&mut self) {
        if self.dice.chance(3) {
            return self.logic.header_blocked();
        }
        let held = &mut self.held[Way::ToApp as usize];
        let before = held.len();
        let small = self.dice.below(9) + 1;
        let Some(bytes) = self.take(Side::Peer) else {
            return self.logic.peer_ended(before);
        };
        if bytes.is_empty() {
            return self.logic.peer_ended(before);
        }
        let (now, later) = bytes.split_at(small.min(bytes.len()));
        later
            .iter()
            .rev()
            .for_each(|byte| self.peer.outgoing.push_front(*byte));
        let held = &mut self.held[Way::ToApp as usize];
        held.extend(now);
        let all = held.make_contiguous().to_vec();
        if let Some(skip) = self
            .logic
            .received(&all, &self.policy, &Own::default(), self.now)
        {
            self.held[Way::ToApp as usize].drain(..skip);
        }
    }

    fn dial(&mut self) {
        let fault = self.weather == Weather::Rough && self.dice.chance(3);
        match (fault, self.dice.below(4)) {
            (true, 0) => self.logic.dial_failed(Call::Connect, Errno::ECONNREFUSED),
            (true, 1) => self.logic.dial_failed(Call::Bind, Errno::EADDRINUSE),
            (true, _) => self.logic.dial_failed(Call::Connect, Errno::EADDRNOTAVAIL),
            (false, 0) => self.logic.dialing(),
            (false, _) => self.logic.dialed(self.local, &self.policy, self.now),
        }
    }

    fn read(&mut self, way: Way) {
        if self.dice.chance(4) {
            return self.logic.read_blocked(way);
        }
        match self.take(way.source()) {
            None => self.logic.read_failed(way),
            Some(bytes) => {
                let n = u32::try_from(bytes.len()).unwrap();
                self.held[way as usize].extend(bytes);
                self.logic.read(way, n, &self.policy, self.now);
            }
        }
    }

    fn write(&mut self, way: Way) {
        assert!(
            !self.socket(way.sink()).saw_end,
            "nothing is written after the end"
        );
        let sink = self.socket(way.sink());
        if sink.resets_at.is_some_and(|at| sink.outgoing.len() <= at) {
            return self.logic.write_failed(way);
        }
        if self.dice.chance(4) {
            return self.logic.write_blocked(way);
        }
        let n = 1 + self.dice.below(self.held[way as usize].len());
        let bytes: Vec<u8> = self.held[way as usize].drain(..n).collect();
        self.socket(way.sink()).received.extend(bytes);
        self.logic
            .wrote(way, u32::try_from(n).unwrap(), &self.policy, self.now);
    }

    /// Nothing to do: events arrive, in any order, some of them for nothing.
    fn wait(&mut self) {
        if self.logic.is_dialing() {
            return self.logic.dialed(self.local, &self.policy, self.now);
        }
        for side in [Side::Peer, Side::App] {
            let (readable, writable) = (!self.dice.chance(3), !self.dice.chance(3));
            self.logic.ready(side, readable, writable);
        }
        if self.weather == Weather::Rough && self.dice.chance(200) {
            self.logic.expired();
        }
    }
}

fn each_seed(check: impl Fn(u64)) {
    match env::var("SEED") {
        Ok(seed) => check(seed.parse().expect("SEED is a number")),
        Err(_) => (0..RUNS).for_each(|seed| {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(seed)));
            assert!(result.is_ok(), "to see it alone: SEED={seed}");
        }),
    }
}

#[test]
fn without_faults_every_byte_arrives_and_both_ends_are_passed_on() {
    each_seed(|seed| {
        let report = simulate(seed, Weather::Calm);
        assert_eq!(
            (report.outcome, report.ending),
            (Outcome::Ok, Ending::Close)
        );
        assert_eq!(report.simulation.app.received, report.payload);
        assert_eq!(report.simulation.peer.received, report.answer);
        assert!(report.simulation.app.saw_end && report.simulation.peer.saw_end);
        let moved = Way::BOTH.map(|way| report.simulation.logic.moved(way));
        assert_eq!(
            moved,
            [report.payload.len() as u64, report.answer.len() as u64]
        );
    });
}

#[test]
fn with_faults_each_side_gets_a_beginning_of_the_truth_and_no_false_end() {
    each_seed(|seed| {
        let report = simulate(seed, Weather::Rough);
        let Report {
            simulation,
            payload,
            answer,
            ..
        } = &report;
        assert!(
            payload.starts_with(&simulation.app.received),
            "the header stays out"
        );
        assert!(answer.starts_with(&simulation.peer.received));
        match report.outcome {
            Outcome::Ok => assert_eq!(report.ending, Ending::Close),
            Outcome::PeerReset | Outcome::AppReset | Outcome::Idle => {
                assert_eq!(report.ending, Ending::Reset);
            }
            Outcome::DialFailed(error) => {
                assert!(matches!(
                    error,
                    DialError::Refused | DialError::TupleTaken | DialError::TimedOut
                ));
                assert!(simulation.app.received.is_empty());
            }
            Outcome::BadHeader(HeaderError::Truncated | HeaderError::TimedOut)
            | Outcome::EmptyProbe => assert!(simulation.dialled.is_empty()),
            other => panic!("no fault leads to {other:?}"),
        }
    });
}

#[test]
fn the_end_is_passed_on_only_after_the_last_byte() {
    each_seed(|seed| {
        let Report {
            simulation,
            payload,
            ..
        } = simulate(seed, Weather::Rough);
        if simulation.app.saw_end {
            assert_eq!(simulation.app.received, payload);
        }
    });
}

/// An app that echoes to a peer that is gone, and reads no more until somebody takes its echo.
#[test]
fn two_directions_that_wait_for_each_other_end_when_the_peer_is_gone() {
    let (policy, own) = (policy(), Own::default());
    let peer = Peer::new("10.0.0.9:40000".parse().unwrap());
    let mut logic = Connection::new(peer, Rule::Require, &policy, 0);
    logic.received(HEADER, &policy, &own, 0).unwrap();
    let Command::Dial(attempt) = logic.next() else {
        panic!("{:?}", logic.next());
    };
    logic.dialed(attempt.source.unwrap(), &policy, 0);
    logic.read(Way::ToApp, 10, &policy, 0);
    logic.write_blocked(Way::ToApp);
    logic.read(Way::ToPeer, 10, &policy, 0);
    logic.write_blocked(Way::ToPeer);
    assert_eq!(logic.next(), Command::Wait);
    logic.ready(Side::Peer, true, true);
    logic.write_failed(Way::ToPeer);
    let end = Command::End(Outcome::PeerReset, Ending::Reset);
    assert_eq!(logic.next(), end);
}
