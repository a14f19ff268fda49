//! As much HTTP as an app of the tests needs: one request on a connection, and its answer.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The request's head as it came, to the empty line; a body is not looked at.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

/// Head of an answer after which the connection is closed.
pub(crate) fn head(status: &str, length: usize) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
}
