//! Long streams in both directions, in pieces of every size, ended by either side first.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::pattern::{LONGEST, Pattern, Random};
use crate::support::app::App;
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand};
use crate::support::wire;

const MIB: u64 = 1 << 20;

/// How one end of a connection behaves.
#[derive(Clone, Copy, Debug)]
struct End {
    /// How much it sends.
    bytes: u64,
    /// It sends only when the other one has ended.
    sends_last: bool,
    writes: Pace,
    reads: Pace,
}

#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Pieces up to 256 KiB.
    Fast,
    /// Pieces up to 1,000 bytes, and a pause every 64 KiB.
    Slow,
}

const FAST: End = End {
    bytes: 64 * MIB,
    sends_last: false,
    writes: Pace::Fast,
    reads: Pace::Fast,
};

#[test]
fn sixty_four_mib_each_way_at_once_arrive_unchanged() {
    check("at-once", FAST, FAST);
}

#[test]
fn a_peer_that_has_ended_still_gets_64_mib() {
    let app = End {
        sends_last: true,
        ..FAST
    };
    check("peer-ends", FAST, app);
}

#[test]
fn an_app_that_has_ended_still_gets_64_mib() {
    let peer = End {
        sends_last: true,
        ..FAST
    };
    check("app-ends", peer, FAST);
}

#[test]
fn a_slow_reader_on_either_side_misses_nothing() {
    let slow = End {
        reads: Pace::Slow,
        ..FAST
    };
    check(
        "peer-reads",
        slow,
        End {
            reads: Pace::Fast,
            ..slow
        },
    );
    check(
        "app-reads",
        End {
            reads: Pace::Fast,
            ..slow
        },
        slow,
    );
}

#[test]
fn a_slow_writer_on_either_side_is_heard_to_the_end() {
    let slow = End {
        writes: Pace::Slow,
        ..FAST
    };
    check("peer-writes", slow, FAST);
    check("app-writes", FAST, slow);
}

/// Connects two such ends through the dataplane and lets them talk until both have ended.
#[track_caller]
fn check(label: &str, peer: End, app: End) {
    let stand = Stand::new(label, &enrolled(PORT));
    let (to_app, to_peer) = (Pattern::new(0x5EED), Pattern::new(0xFEED));
    let (done, result) = channel();
    let patterns = (to_peer.clone(), to_app.clone());
    let _app = App::start(
        &stand.lab.pod.namespace,
        "0.0.0.0:8080",
        move |stream, _| {
            let _ = done.send(app.talk(&stream, &patterns.0, &patterns.1));
        },
    );
    let start = Instant::now();
    let stream = stand.dial();
    wire::send(&stream, &wire::v1(wire::client4(0)));
    let heard = peer.talk(&stream, &to_app, &to_peer);
    assert_eq!(heard, Ok(app.bytes), "the peer hears the app");
    let heard = result.recv_timeout(PATIENCE).expect("the app ends");
    assert_eq!(heard, Ok(peer.bytes), "the app hears the peer");
    let mib = (peer.bytes + app.bytes) / MIB;
    eprintln!("{label}: {mib} MiB in {:?}", start.elapsed());
    let metrics = stand.metrics_when("the connection ends in order", |m| m.ended("ok") == 1);
    let relayed = |to| metrics.get(&format!("relayed_bytes_total{{direction=\"{to}\"}}"));
    assert_eq!(
        [relayed("to_app"), relayed("to_client")],
        [peer.bytes, app.bytes]
    );
}

impl End {
    /// Sends its bytes and ends, while it reads what the other one says to its end. Answers how
    /// much that was, or what was wrong with it.
    fn talk(self, stream: &TcpStream, own: &Pattern, others: &Pattern) -> Result<u64, String> {
        if self.sends_last {
            let heard = self.hear(stream, others)?;
            return self.speak(stream, own).map(|()| heard);
        }
        thread::scope(|scope| {
            let speaking = scope.spawn(|| self.speak(stream, own));
            let heard = self.hear(stream, others);
            speaking.join().map_err(|_| "a panic".to_owned())??;
            heard
        })
    }

    fn speak(self, mut stream: &TcpStream, pattern: &Pattern) -> Result<(), String> {
        let mut random = Random::new(0xBEE);
        let mut sent = 0;
        while sent < self.bytes {
            let left = usize::try_from(self.bytes - sent).unwrap_or(LONGEST);
            let piece = self.writes.piece(&mut random, sent).min(left);
            let written = stream.write_all(pattern.at(sent, piece));
            written.map_err(|error| format!("writing after {sent} bytes: {error}"))?;
            sent += piece as u64;
        }
        let ended = stream.shutdown(Shutdown::Write);
        ended.map_err(|error| format!("ending: {error}"))
    }

    fn hear(self, mut stream: &TcpStream, pattern: &Pattern) -> Result<u64, String> {
        let mut random = Random::new(0xD0E);
        let mut buffer = vec![0; LONGEST];
        let mut heard = 0;
        loop {
            let piece = self.reads.piece(&mut random, heard);
            let n = match stream.read(&mut buffer[..piece]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read,
            };
            let n = n.map_err(|error| format!("reading after {heard} bytes: {error}"))?;
            if n == 0 {
                return Ok(heard);
            }
            if buffer[..n] != *pattern.at(heard, n) {
                return Err(format!("wrong bytes within {n} from {heard} on"));
            }
            heard += n as u64;
        }
    }
}

impl Pace {
    /// The size of the next piece; mostly large ones, or mostly small ones.
    fn piece(self, random: &mut Random, offset: u64) -> usize {
        match self {
            Self::Fast if random.up_to(8) == 1 => random.up_to(100),
            Self::Fast => random.up_to(LONGEST),
            Self::Slow => {
                if offset % (64 << 10) < 1000 {
                    thread::park_timeout(Duration::from_millis(2));
                }
                random.up_to(1000)
            }
        }
    }
}
