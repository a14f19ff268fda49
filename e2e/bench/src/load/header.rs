//! A PROXY header for each connection, and a client that no other connection of the run has.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};

/// What a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Header {
    /// Nothing: straight to the app.
    None,
    /// The line of text.
    V1,
    /// Signature, addresses, no TLVs.
    V2,
}

/// 198.18.0.0/15 is set aside for benchmarks (RFC 2544); the app's answers to it stay in the pod.
const CLIENTS: u64 = 0xC612_0000;
const ADDRESSES: u64 = 1 << 16;

/// Above every port that a contender or an app listens on.
const FIRST_PORT: u64 = 16_384;
const PORTS: u64 = 65_536 - FIRST_PORT;

/// Odd and no multiple of 3, so it has no factor in common with the number of clients: multiplying
/// visits each of them once before any comes twice.
const SCATTER: u64 = 2_654_435_761;

const V2_SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const V2_PROXY: u8 = 0x21;
const V2_TCP4: u8 = 0x11;
const V2_ADDRESSES: u16 = 12;

/// The client of the `number`th connection: 3.2 thousand million different ones, scattered over
/// addresses and ports as those of the Internet are.
pub(crate) fn client(number: u64) -> SocketAddrV4 {
    let space = ADDRESSES * PORTS;
    let place = u128::from(number) * u128::from(SCATTER) % u128::from(space);
    let place = u64::try_from(place).unwrap_or(0);
    let address = u32::try_from(CLIENTS + place / PORTS).unwrap_or(0);
    let port = u16::try_from(FIRST_PORT + place % PORTS).unwrap_or(0);
    SocketAddrV4::new(Ipv4Addr::from(address), port)
}

/// Writes the header into `buffer` in place of what was there.
pub(crate) fn write(
    header: Header,
    client: SocketAddrV4,
    server: SocketAddrV4,
    buffer: &mut Vec<u8>,
) {
    buffer.clear();
    match header {
        Header::None => {}
        Header::V1 => write_v1(client, server, buffer),
        Header::V2 => write_v2(client, server, buffer),
    }
}

fn write_v1(client: SocketAddrV4, server: SocketAddrV4, buffer: &mut Vec<u8>) {
    let (from, to) = (client.ip(), server.ip());
    let ports = (client.port(), server.port());
    write!(buffer, "PROXY TCP4 {from} {to} {} {}\r\n", ports.0, ports.1)
        .expect("writing to a Vec does not fail");
}

fn write_v2(client: SocketAddrV4, server: SocketAddrV4, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&V2_SIGNATURE);
    buffer.extend_from_slice(&[V2_PROXY, V2_TCP4]);
    buffer.extend_from_slice(&V2_ADDRESSES.to_be_bytes());
    buffer.extend_from_slice(&client.ip().octets());
    buffer.extend_from_slice(&server.ip().octets());
    buffer.extend_from_slice(&client.port().to_be_bytes());
    buffer.extend_from_slice(&server.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(header: Header) -> Vec<u8> {
        let (client, server) = ("198.18.3.4:51000", "10.9.0.2:8080");
        let mut buffer = b"left over".to_vec();
        write(
            header,
            client.parse().unwrap(),
            server.parse().unwrap(),
            &mut buffer,
        );
        buffer
    }

    #[test]
    fn v1_is_a_line_of_text() {
        assert_eq!(
            written(Header::V1),
            b"PROXY TCP4 198.18.3.4 10.9.0.2 51000 8080\r\n"
        );
    }

    #[test]
    fn v2_is_28_bytes() {
        let want =
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x12\x03\x04\x0a\x09\0\x02\xc7\x38\x1f\x90";
        assert_eq!(written(Header::V2), want);
        assert_eq!(written(Header::None), b"");
    }

    #[test]
    fn no_client_comes_twice_in_a_million() {
        let clients: HashSet<_> = (0..1_000_000).map(client).collect();
        assert_eq!(clients.len(), 1_000_000);
    }

    #[test]
    fn clients_are_of_the_benchmark_network_and_of_high_ports() {
        for client in (0..10_000).map(client) {
            assert_eq!(client.ip().octets()[..2], [198, 18], "{client}");
            assert!(client.port() >= 16_384, "{client}");
        }
    }
}
