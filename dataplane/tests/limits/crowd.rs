//! Peers in great numbers that never get to the end of a header, and when they are closed.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::support::lab::POD4;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::wire;

/// Addresses of the balancer that a crowd comes from, so that ports do not run short.
const ADDRESSES: u8 = 4;

/// Between two bytes of those that trickle.
const TRICKLE: Duration = Duration::from_millis(100);

pub struct Crowd {
    epoll: Epoll,
    members: Vec<Member>,
    /// From the first connect to the last.
    pub took: Duration,
}

struct Member {
    stream: Option<TcpStream>,
    opened: Instant,
}

/// How the dataplane closed one of them.
pub struct Close {
    /// Since just before its connect.
    pub after: Duration,
    pub reset: bool,
}

/// Gives the balancer the addresses that crowds come from.
#[track_caller]
pub fn prepare(stand: &Stand) {
    for number in 0..ADDRESSES {
        stand
            .lab
            .balancer
            .address("back", &format!("{}/24", address(number)));
    }
}

impl Crowd {
    /// Connects so many, as fast as it goes.
    #[track_caller]
    pub fn open(stand: &Stand, count: usize) -> Self {
        let start = Instant::now();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("a descriptor is free");
        let members: Vec<Member> = stand.lab.balancer.enter(|| {
            let numbers = (0..ADDRESSES).cycle().take(count);
            numbers.map(Member::open).collect()
        });
        for (index, member) in members.iter().enumerate() {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, index as u64);
            let added = member
                .stream
                .as_ref()
                .map(|stream| epoll.add(stream, event));
            added.expect("it is open").expect("epoll takes sockets");
        }
        Self {
            epoll,
            members,
            took: start.elapsed(),
        }
    }

    /// Waits until every one is closed, sending each the next byte of `header` now and then.
    #[track_caller]
    pub fn closes(&mut self, header: &[u8]) -> Vec<Close> {
        let end = Instant::now() + PATIENCE;
        let mut closes = Vec::new();
        let mut header = header.iter();
        let mut next = Instant::now();
        while closes.len() < self.members.len() {
            assert!(Instant::now() < end, "only {} were closed", closes.len());
            if Instant::now() >= next {
                next += TRICKLE;
                header.next().into_iter().for_each(|byte| self.send(*byte));
            }
            closes.extend(self.closed_now());
        }
        closes
    }

    fn send(&self, byte: u8) {
        for mut stream in self.members.iter().filter_map(|m| m.stream.as_ref()) {
            // A closed one fails; its close is an event of its own.
            let _ = stream.write(&[byte]);
        }
    }

    fn closed_now(&mut self) -> Vec<Close> {
        let mut events = [EpollEvent::empty(); 512];
        let count = self.epoll.wait(&mut events, EpollTimeout::from(20_u8));
        let now = Instant::now();
        let events = &events[..count.expect("epoll waits")];
        let index = |event: &EpollEvent| usize::try_from(event.data()).expect("an index");
        let closed = events
            .iter()
            .map(|event| self.members[index(event)].close(now));
        closed.collect()
    }
}

impl Member {
    #[track_caller]
    fn open(number: u8) -> Self {
        let opened = Instant::now();
        let stream = wire::connect(address(number), (POD4, PORT).into());
        Self {
            stream: Some(stream),
            opened,
        }
    }

    /// Takes note of how it was closed; bytes of an app would be a breach.
    #[track_caller]
    fn close(&mut self, now: Instant) -> Close {
        let mut stream = self.stream.take().expect("one event each: it is dropped");
        let read = stream.read(&mut [0]);
        assert_ne!(read.as_ref().ok(), Some(&1), "nobody may answer it");
        Close {
            after: now.duration_since(self.opened),
            reset: read.is_err(),
        }
    }
}

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 9, 0, 100 + number).into()
}
