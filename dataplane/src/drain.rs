//! The `drain` command: asks the `serve` of this pod to be unready, and waits.
//!
//! A container's preStop hook needs a program, and our image has no shell. Not ready and still
//! accepting for a while is what lets endpoints and balancers notice before connections are cut.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long the admin port may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Longest answer that is read.
const ANSWER_MAX: u64 = 4096;

/// Why nobody was asked to drain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody there.
    #[error(
        "could not ask 127.0.0.1:{port} to drain; does `serve` run here, with this admin port?"
    )]
    Ask {
        /// The admin port.
        port: u16,
        /// What the kernel says.
        source: io::Error,
    },
    /// Somebody else's port, most likely.
    #[error("127.0.0.1:{port} answers {answer:?}; is it the admin port?")]
    Refused {
        /// The admin port.
        port: u16,
        /// The first line of the answer.
        answer: String,
    },
}

/// Posts `/drain` on loopback, then waits `wait` so that everybody can notice.
///
/// # Errors
/// When nobody answers, or not with 200.
pub fn drain(port: u16, wait: Duration) -> Result<(), Error> {
    let answer = post(port).map_err(|source| Error::Ask { port, source })?;
    let first = answer.lines().next().unwrap_or_default();
    if !first.starts_with("HTTP/1.1 200") {
        return Err(Error::Refused {
            port,
            answer: first.to_owned(),
        });
    }
    let end = Instant::now() + wait;
    while let Some(left) = end
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        thread::park_timeout(left);
    }
    Ok(())
}

fn post(port: u16) -> io::Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"POST /drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// The request that a server with this answer gets, and what `drain` makes of the answer.
    fn asked(answer: &'static str) -> (String, Result<(), Error>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 256];
            let n = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request[..n].to_vec()).unwrap()
        });
        let result = drain(port, Duration::ZERO);
        (server.join().unwrap(), result)
    }

    #[test]
    fn it_posts_drain_and_takes_200_for_yes() {
        let (request, result) = asked("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert!(request.starts_with("POST /drain HTTP/1.1\r\n"));
        assert!(result.is_ok());
    }

    #[test]
    fn another_answer_is_named() {
        let (_, result) = asked("HTTP/1.1 404 Not Found\r\n\r\n");
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("HTTP/1.1 404 Not Found")
        );
    }
}
