//! Segmentation never changes the answer.

use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::time::Instant;

use crate::support::app::{self, App};
use crate::support::pod::enrolled;
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire;

/// Connections at once. Each has two sockets in this process and two in the dataplane.
const BATCH: usize = 400;

/// The longest header that the configuration of these tests accepts.
const LONGEST: usize = 4096;

/// How the bytes after the cut are sent.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// In one segment with the payload.
    WithPayload,
    /// Read by the dataplane before there is any payload.
    Alone,
}

/// One connection whose header is cut.
struct Cut {
    client: SocketAddr,
    header: Vec<u8>,
    at: usize,
    stream: TcpStream,
}

#[test]
fn a_v1_tcp4_header_cut_at_any_byte_makes_the_same_connection() {
    check("cut-tcp4", |number| {
        let client = wire::client4(number);
        (client, wire::v1(client))
    });
}

#[test]
fn a_v1_tcp6_header_cut_at_any_byte_makes_the_same_connection() {
    check("cut-tcp6", |number| {
        let client = wire::client6(number);
        (client, wire::v1(client))
    });
}

#[test]
fn a_v2_header_cut_at_any_byte_makes_the_same_connection() {
    check("cut-v2", |number| {
        let client = wire::client4(number);
        (client, wire::v2(client))
    });
}

#[test]
fn a_v2_header_with_4_kib_of_tlvs_cut_at_any_byte_makes_the_same_connection() {
    check("cut-tlvs", |number| {
        let client = wire::client6(number);
        (client, wire::v2_of(LONGEST, client))
    });
}

#[test]
fn headers_that_come_byte_by_byte_make_the_same_connection() {
    let (stand, _app) = stand("bytewise");
    let clients = [
        wire::client4(1),
        wire::client6(2),
        wire::client4(3),
        wire::client6(4),
        wire::client4(5),
    ];
    let headers = [
        wire::v1(clients[0]),
        wire::v1(clients[1]),
        wire::v2(clients[2]),
        wire::v2_of(200, clients[3]),
        wire::v2_of(4096, clients[4]),
    ];
    let streams = stand.dial_many(headers.len());
    let longest = headers.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..longest {
        for (stream, header) in streams.iter().zip(&headers) {
            // All end together: no app waits for its payload longer than it has patience.
            let byte = (at + header.len()).checked_sub(longest);
            let byte = byte.and_then(|at| header.get(at..=at));
            wire::send(stream, byte.unwrap_or_default());
        }
        stand.has_read_everything();
    }
    for (stream, client) in streams.iter().zip(clients) {
        assert_eq!(
            wire::exchange(stream, b"payload"),
            format!("{client} payload")
        );
    }
}

/// Cuts the header at every byte, each time on a connection of its own.
#[track_caller]
fn check(label: &str, header: impl Fn(usize) -> (SocketAddr, Vec<u8>)) {
    let (stand, app) = stand(label);
    let cuts: Vec<usize> = (1..header(0).1.len()).collect();
    let start = Instant::now();
    let mut number = 0;
    for rest in [Rest::WithPayload, Rest::Alone] {
        for batch in cuts.chunks(BATCH) {
            let open = |(stream, at): (TcpStream, &usize)| {
                let (client, header) = header(number);
                number += 1;
                wire::send(&stream, &header[..*at]);
                let at = *at;
                Cut {
                    client,
                    header,
                    at,
                    stream,
                }
            };
            let streams = stand.dial_many(batch.len());
            let cuts: Vec<Cut> = streams.into_iter().zip(batch).map(open).collect();
            check_batch(&stand, &cuts, rest);
        }
    }
    eprintln!("{number} connections in {:?}", start.elapsed());
    assert_eq!(app.clients().len(), number, "a connection a cut");
    assert_eq!(stand.metrics().dials("as_client"), number as u64);
}

#[track_caller]
fn check_batch(stand: &Stand, cuts: &[Cut], rest: Rest) {
    stand.has_read_everything();
    // Whatever was cut off, nobody was dialled for on half a header.
    assert_eq!(stand.metrics().get("pending_headers"), cuts.len() as u64);
    let payload = |cut: &Cut| format!("payload of the header cut at {}", cut.at).into_bytes();
    for cut in cuts {
        match rest {
            Rest::Alone => wire::send(&cut.stream, &cut.header[cut.at..]),
            Rest::WithPayload => {
                wire::send(
                    &cut.stream,
                    &[&cut.header[cut.at..], &payload(cut)].concat(),
                );
            }
        }
    }
    if let Rest::Alone = rest {
        stand.has_read_everything();
        cuts.iter()
            .for_each(|cut| wire::send(&cut.stream, &payload(cut)));
    }
    cuts.iter().for_each(|cut| wire::end(&cut.stream));
    for cut in cuts {
        let want = format!("{} payload of the header cut at {}", cut.client, cut.at);
        assert_eq!(wire::answer(&cut.stream), want, "{rest:?}");
    }
}

#[track_caller]
fn stand(label: &str) -> (Stand, App) {
    let config = with(&enrolled(PORT), "mode: all", "mode: errors");
    // Byte by byte takes its time on two slow cores; the deadline is another test's.
    let config = with(&config, "timeout: 5s", "timeout: 60s");
    let stand = Stand::new(label, &config);
    let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT)).to_string();
    let app = App::start(&stand.lab.pod.namespace, &address, app::report);
    (stand, app)
}
