//! Many clients at once, of whom some are served and some still wait.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

use crate::support::lab::{BALANCER4, POD4};
use crate::support::pod::enrolled;
use crate::support::stand::{PATIENCE, PORT, Stand, with};
use crate::support::{wait, wire};

/// A configuration with these limits, which logs nothing.
pub fn config(limits: &str) -> String {
    let config = with(&enrolled(PORT), "mode: all", "mode: off");
    format!("{config}limits: {limits}\n")
}

/// A client that has sent its header.
pub struct Guest {
    stream: TcpStream,
    client: SocketAddr,
}

/// Connects these clients one after the other, each with its header at once.
#[track_caller]
pub fn arrive(stand: &Stand, clients: impl Iterator<Item = usize> + Send) -> Vec<Guest> {
    let arrive = |number| {
        let client = wire::client4(number);
        let stream = wire::connect(BALANCER4, (POD4, PORT).into());
        wire::send(&stream, &wire::v1(client));
        Guest { stream, client }
    };
    stand.lab.balancer.enter(|| clients.map(arrive).collect())
}

/// Moves guests that are served from one list to the other until there are `count` of them.
#[track_caller]
pub fn serve(waiting: &mut Vec<Guest>, served: &mut Vec<Guest>, count: usize) {
    wait::until("enough of them are served", PATIENCE, || {
        served.extend(waiting.extract_if(.., |guest| guest.is_served()));
        (served.len() >= count).then_some(())
    });
}

impl Guest {
    /// Whether the app's greeting is there; a connection that was closed instead fails the test.
    #[track_caller]
    pub fn is_served(&self) -> bool {
        self.stream.set_nonblocking(true).expect("it is a socket");
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("it is a socket");
        match peeked {
            Ok(1) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            other => panic!("{} was lost: {other:?}", self.client),
        }
    }

    /// Reads the greeting, which names this client and nobody else.
    #[track_caller]
    pub fn is_greeted(&self) {
        let want = format!("{}\n", self.client);
        assert_eq!(self.hear(want.len()), want);
    }

    /// Says something and hears it.
    #[track_caller]
    pub fn works(&self, word: &str) {
        wire::send(&self.stream, word.as_bytes());
        assert_eq!(self.hear(word.len()), word);
    }

    /// Ends in order and hears nothing more.
    #[track_caller]
    pub fn leave(self) {
        wire::end(&self.stream);
        assert_eq!(wire::answer(&self.stream), "", "{}", self.client);
    }

    #[track_caller]
    fn hear(&self, length: usize) -> String {
        let mut heard = vec![0; length];
        let read = (&self.stream).read_exact(&mut heard);
        read.unwrap_or_else(|error| panic!("{}: {error}", self.client));
        String::from_utf8(heard).expect("the app speaks text")
    }
}
