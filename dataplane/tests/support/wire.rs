//! Peers: their headers as bytes, their connections as plain sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use proxyunwrap_header::build::{self, V2};
use proxyunwrap_header::{Transport, tlv};
use socket2::{Domain, SockRef, Socket, Type};

use super::namespace::Namespace;
use super::stand::PATIENCE;

/// Where the client had connected to, by the header: the balancer's front.
const FRONT4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
const FRONT6: SocketAddr = SocketAddr::new(
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xc, 0, 0, 0, 0, 1)),
    443,
);

/// A client whose header is as long as that of any other: `number` from 0 to 299,999.
pub fn client4(number: usize) -> SocketAddr {
    let (host, port) = host_and_port(number);
    (Ipv4Addr::new(203, 0, 113, host), port).into()
}

/// The same for IPv6.
pub fn client6(number: usize) -> SocketAddr {
    let (host, port) = host_and_port(number);
    let host = 0x1000 + u16::from(host);
    (Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, host), port).into()
}

fn host_and_port(number: usize) -> (u8, u16) {
    let host = u8::try_from(100 + number / 2000).expect("fewer clients than that");
    let port = u16::try_from(20_000 + number % 2000).expect("2000 ports a host");
    (host, port)
}

/// A v1 header for this client.
pub fn v1(client: SocketAddr) -> Vec<u8> {
    built(|buffer| build::v1(buffer, client, front(client)))
}

/// A v2 header for this client, without TLVs.
pub fn v2(client: SocketAddr) -> Vec<u8> {
    built(|buffer| V2::addresses(buffer, Transport::Stream, client, front(client))?.finish())
}

/// A v2 header of `len` bytes for this client: ALPN, a unique id, a checksum, and padding.
pub fn v2_of(len: usize, client: SocketAddr) -> Vec<u8> {
    built(|buffer| {
        V2::addresses(buffer, Transport::Stream, client, front(client))?
            .tlv(tlv::kind::ALPN, b"h2")?
            .tlv(tlv::kind::UNIQUE_ID, &[0x55; 128])?
            .crc32c()?
            .pad_to(len)?
            .finish()
    })
}

fn front(client: SocketAddr) -> SocketAddr {
    if client.is_ipv4() { FRONT4 } else { FRONT6 }
}

/// What `build` writes into a buffer that is large enough.
#[track_caller]
pub fn built(build: impl FnOnce(&mut [u8]) -> Result<usize, build::Error>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 17];
    let len = build(&mut buffer).expect("the test asks for a header that can be built");
    buffer.truncate(len);
    buffer
}

/// A connection from an address of `namespace`.
#[track_caller]
pub fn dial(namespace: &Namespace, from: IpAddr, to: SocketAddr) -> TcpStream {
    namespace.enter(|| connect(from, to))
}

/// A connection from an address of the calling thread's namespace: no delay, patient.
#[track_caller]
pub fn connect(from: IpAddr, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None);
    let socket = socket.expect("a descriptor is free");
    socket
        .bind(&SocketAddr::new(from, 0).into())
        .expect("the address is the namespace's");
    let connected = socket.connect_timeout(&to.into(), PATIENCE);
    connected.unwrap_or_else(|error| panic!("{from} connecting to {to}: {error}"));
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true).expect("it is a TCP socket");
    be_patient(&stream, PATIENCE);
    stream
}

/// Reads and writes of this stream fail after `limit`, and with them the test.
pub fn be_patient(stream: &TcpStream, limit: Duration) {
    let both = stream
        .set_read_timeout(Some(limit))
        .and_then(|()| stream.set_write_timeout(Some(limit)));
    both.expect("the limit is not zero");
}

#[track_caller]
pub fn send(mut stream: &TcpStream, bytes: &[u8]) {
    let sent = stream.write_all(bytes);
    sent.unwrap_or_else(|error| panic!("sending {} bytes: {error}", bytes.len()));
}

/// Ends our direction.
#[track_caller]
pub fn end(stream: &TcpStream) {
    let ended = stream.shutdown(Shutdown::Write);
    ended.unwrap_or_else(|error| panic!("ending our direction: {error}"));
}

/// Reads to the end of the other direction.
#[track_caller]
pub fn answer(mut stream: &TcpStream) -> String {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    read.unwrap_or_else(|error| panic!("after {} bytes of answer: {error}", answer.len()));
    String::from_utf8(answer).expect("apps of these tests speak text")
}

/// How the other direction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    InOrder,
    Reset,
}

/// Waits for the end of the other direction; a byte before it, or no end in time, is an error.
pub fn ended(mut stream: &TcpStream) -> Result<Ended, String> {
    let mut answer = Vec::new();
    // Unlike `read`, it goes on after a signal.
    let read = stream.read_to_end(&mut answer);
    match read {
        _ if !answer.is_empty() => Err(format!("an answer of {} bytes", answer.len())),
        Ok(_) => Ok(Ended::InOrder),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Ended::Reset),
        Err(error) => Err(format!("not closed: {error}")),
    }
}

/// Sends everything, ends our direction, and reads the answer to its end.
#[track_caller]
pub fn exchange(stream: &TcpStream, bytes: &[u8]) -> String {
    send(stream, bytes);
    end(stream);
    answer(stream)
}

/// Closes with a reset.
pub fn reset(stream: TcpStream) {
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .expect("it is a socket");
    drop(stream);
}
