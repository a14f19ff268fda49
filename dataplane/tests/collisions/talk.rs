//! A conversation through one of two ports that lead to one app.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};

use crate::support::lab::{BALANCER4, POD4};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand};
use crate::support::wire;

/// A second port that peers dial; the app is the same.
pub const SECOND: u16 = 8081;

/// Where the dataplane listens for it.
const SECOND_LISTEN: u16 = 15002;

/// Two ports and one app.
#[track_caller]
pub fn stand(label: &str) -> Stand {
    let second = format!(
        r#"- {{name: second, port: {SECOND}, listen: {SECOND_LISTEN}, app: {PORT}, peers: {{require: [10.9.0.0/24]}}}}
accessLog"#
    );
    Stand::new(label, &enrolled(PORT).replace("accessLog", &second))
}

/// An open connection on which the app has said whom it sees.
pub struct Talk {
    stream: TcpStream,
    pub seen: SocketAddr,
}

impl Talk {
    /// Dials one of the two ports for this client.
    #[track_caller]
    pub fn open(stand: &Stand, port: u16, client: SocketAddr) -> Self {
        let stream = wire::dial(&stand.lab.balancer, BALANCER4, (POD4, port).into());
        wire::send(&stream, &wire::v2(client));
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            let read = (&stream).read_exact(&mut byte);
            read.unwrap_or_else(|error| panic!("for {client}: {error}"));
            line.push(byte[0]);
        }
        let line = String::from_utf8(line).expect("the app speaks text");
        let seen = line.trim_end().parse().expect("the app names an address");
        Self { stream, seen }
    }

    /// Whether what one says is answered, so whether the connection is one's own.
    #[track_caller]
    pub fn works(&self, word: &str) {
        wire::send(&self.stream, word.as_bytes());
        let mut answer = vec![0; word.len()];
        let read = (&self.stream).read_exact(&mut answer);
        read.unwrap_or_else(|error| panic!("{word}: {error}"));
        assert_eq!(answer, word.as_bytes());
    }

    /// Ends it in order, the peer first, and waits for the app's end.
    #[track_caller]
    pub fn end(self) {
        wire::end(&self.stream);
        assert_eq!(wire::answer(&self.stream), "");
    }
}
