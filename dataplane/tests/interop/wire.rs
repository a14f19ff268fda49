//! Clients: curl for HTTP, and a plain socket for protocols of lines.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::support::namespace::Namespace;

const PATIENCE: Duration = Duration::from_secs(10);

/// curl inside `namespace`, from an address and port that the test names.
pub fn curl(namespace: &Namespace, from: SocketAddr, arguments: &[&str]) -> Output {
    let (address, port) = (from.ip().to_string(), from.port().to_string());
    let always = [
        "-sS",
        "--fail",
        "--max-time",
        "10",
        "--interface",
        &address,
        "--local-port",
        &port,
    ];
    let mut command = namespace.command("curl");
    let output = command
        .args(always)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    output.expect("these tests need curl: make packages")
}

/// Fetches `/` over plain HTTP and fails the test when no answer comes.
#[track_caller]
pub fn fetch(namespace: &Namespace, from: SocketAddr, to: IpAddr, arguments: &[&str]) {
    let url = format!("http://{}/", SocketAddr::new(to, 80));
    let output = curl(namespace, from, &[arguments, &[&url]].concat());
    assert!(
        output.status.success(),
        "curl {url} from {from}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A conversation of lines, each side's ended by CRLF.
pub struct Lines {
    /// The client's own end, as the client's kernel names it.
    pub local: SocketAddr,
    reader: BufReader<TcpStream>,
}

impl Lines {
    #[track_caller]
    pub fn dial(namespace: &Namespace, to: SocketAddr) -> Self {
        let socket = namespace.enter(|| TcpStream::connect_timeout(&to, PATIENCE));
        let socket = socket.unwrap_or_else(|error| panic!("{to} does not answer: {error}"));
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("the time is not zero");
        let local = socket.local_addr().expect("it is connected");
        Self {
            local,
            reader: BufReader::new(socket),
        }
    }

    /// Sends one line and reads one.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }

    #[track_caller]
    pub fn say(&mut self, line: &str) {
        let sent = self
            .reader
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes());
        sent.unwrap_or_else(|error| panic!("saying {line:?}: {error}"));
    }

    /// The next line without its CRLF.
    #[track_caller]
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        let length = self.reader.read_line(&mut line);
        let length = length.unwrap_or_else(|error| panic!("no line within {PATIENCE:?}: {error}"));
        assert!(length > 0, "the server closed instead of speaking");
        line.trim_end().to_owned()
    }
}
