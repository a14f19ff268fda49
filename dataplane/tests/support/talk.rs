//! A connection to an app that greets and echoes (`app::echo`): alive for as long as it answers.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

use super::stand::Stand;
use super::wire::{self, Ended};

pub struct Talk {
    pub stream: TcpStream,
    pub client: SocketAddr,
}

impl Talk {
    /// A connection for client `number` on which the app has greeted.
    #[track_caller]
    pub fn open(stand: &Stand, number: usize) -> Self {
        let talk = Self::begin(stand.dial(), number);
        talk.is_greeted();
        talk
    }

    /// Sends the header and waits for nothing.
    #[track_caller]
    pub fn begin(stream: TcpStream, number: usize) -> Self {
        let client = wire::client4(number);
        wire::send(&stream, &wire::v1(client));
        Self { stream, client }
    }

    /// The app's first line names our client.
    #[track_caller]
    pub fn is_greeted(&self) {
        let greeting = format!("{}\n", self.client);
        assert_eq!(self.hears(greeting.len()), greeting);
    }

    /// Whether the app has said something that nobody has read yet; a connection that has ended
    /// fails the test.
    #[track_caller]
    pub fn has_answer(&self) -> bool {
        self.stream.set_nonblocking(true).expect("it is a socket");
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("it is a socket");
        match peeked {
            Ok(n) if n > 0 => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            other => panic!("{} is lost: {other:?}", self.client),
        }
    }

    /// The app gives back what we say.
    #[track_caller]
    pub fn says(&self, text: &str) {
        wire::send(&self.stream, text.as_bytes());
        assert_eq!(self.hears(text.len()), text, "{}", self.client);
    }

    /// Ends in order; the app has nothing more to say.
    #[track_caller]
    pub fn ends(self) {
        self.says("bye");
        wire::end(&self.stream);
        assert_eq!(wire::answer(&self.stream), "", "{}", self.client);
    }

    /// Waits until the other side has reset the connection.
    #[track_caller]
    pub fn is_reset(&self) {
        assert_eq!(
            wire::ended(&self.stream),
            Ok(Ended::Reset),
            "{}",
            self.client
        );
    }

    #[track_caller]
    fn hears(&self, len: usize) -> String {
        let mut answer = vec![0; len];
        let heard = (&self.stream).read_exact(&mut answer);
        heard.unwrap_or_else(|error| panic!("{} hears the app: {error}", self.client));
        String::from_utf8(answer).expect("the app speaks text")
    }
}
