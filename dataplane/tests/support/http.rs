//! One request and its answer, for the admin port.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::namespace::Namespace;

const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

/// Asks from inside `namespace`.
pub fn ask(namespace: &Namespace, to: SocketAddr, method: &str, path: &str) -> io::Result<Answer> {
    let mut stream = namespace.enter(|| TcpStream::connect_timeout(&to, PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let host = to.ip();
    stream.write_all(
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    parse(&text).ok_or_else(|| io::Error::other(format!("no HTTP answer: {text:?}")))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(Answer {
        status,
        body: body.to_owned(),
    })
}
