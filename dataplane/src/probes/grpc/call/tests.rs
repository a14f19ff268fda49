use proptest::prelude::*;

use super::*;

fn call() -> Call {
    Call::new(&Question {
        authority: "10.9.0.2:50051".to_owned(),
        agent: "kube-probe/1.36",
        service: "orders",
        timeout: Duration::from_secs(1),
    })
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn headers(flags: u8, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        hpack::write(&mut block, name, value);
    }
    frame(HEADERS, flags, STREAM, &block)
}

fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])
}

fn begin() -> Vec<u8> {
    headers(
        END_HEADERS,
        &[(":status", "200"), ("content-type", "application/grpc")],
    )
}

fn data(message: &[u8]) -> Vec<u8> {
    let len = message.len() as u8;
    frame(DATA, 0, STREAM, &[&[0, 0, 0, 0, len], message].concat())
}

fn trailers(status: &str) -> Vec<u8> {
    let text = [("grpc-status", status), ("grpc-message", "because\n")];
    headers(END_HEADERS | END_STREAM, &text)
}

fn read(frames: &[Vec<u8>]) -> Result<Option<Health>, Error> {
    call().take(&frames.concat())
}

#[track_caller]
fn refused(frames: &[Vec<u8>], want: &str) {
    match read(frames) {
        Err(error) => assert!(error.to_string().contains(want), "{error} is not {want:?}"),
        Ok(answer) => panic!("{answer:?} is not {want:?}"),
    }
}

#[test]
fn an_ordinary_answer_is_read() {
    for (status, want) in [
        (&b"\x08\x01"[..], Health::Serving),
        (b"\x08\x02", Health::NotServing),
        (b"", Health::Unknown),
    ] {
        let frames = [settings(), begin(), data(status), trailers("0")];
        assert_eq!(read(&frames), Ok(Some(want)));
    }
}

#[test]
fn what_may_stand_between_is_passed_over() {
    let padded = [&[3, 0, 0, 0, 0, 2][..], b"\x08\x01", &[0, 0, 0]].concat();
    let block = headers(
        0,
        &[
            (":status", "200"),
            ("content-type", "application/grpc+proto"),
        ],
    );
    let (head, tail) = block.split_at(HEAD + 7);
    let frames = [
        settings(),
        frame(SETTINGS, ACK, 0, &[]),
        frame(8, 0, 0, &[0, 0, 1, 0]),
        frame(0xfa, 0xff, 77, b"an unknown kind"),
        headers(END_HEADERS, &[(":status", "103")]),
        frame(
            HEADERS,
            PADDED | PRIORITY,
            STREAM,
            &[&[1, 0, 0, 0, 0, 9], &head[HEAD..], &[0]].concat(),
        ),
        frame(CONTINUATION, END_HEADERS, STREAM, tail),
        frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
        frame(DATA, PADDED, STREAM, &padded),
        trailers("0"),
    ];
    assert_eq!(read(&frames), Ok(Some(Health::Serving)));
}

#[test]
fn settings_and_pings_are_answered() {
    let mut call = call();
    let opening = call.output();
    assert!(opening.starts_with(PREFACE));
    assert!(opening.ends_with(b"\0\0\0\0\x08\x0a\x06orders"));
    let ping = frame(PING, 0, 0, b"12345678");
    assert_eq!(call.take(&[settings(), ping].concat()), Ok(None));
    let answers = [
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, ACK, 0, b"12345678"),
    ];
    assert_eq!(call.output(), answers.concat());
    assert_eq!(call.output(), b"");
}

#[test]
fn the_time_left_is_at_most_eight_digits() {
    assert_eq!(timeout(Duration::from_millis(1500)), "1500m");
    assert_eq!(timeout(Duration::ZERO), "1m");
    assert_eq!(timeout(Duration::from_secs(200_000)), "200000S");
    assert_eq!(timeout(Duration::MAX), "99999999S");
}

#[test]
fn an_app_that_is_not_well_is_told_apart() {
    let only = |headers_: &[(&str, &str)]| headers(END_HEADERS | END_STREAM, headers_);
    let grpc = ("content-type", "application/grpc");
    let ok = (":status", "200");
    refused(
        &[settings(), only(&[ok, grpc, ("grpc-status", "12")])],
        "does not implement grpc.health.v1.Health",
    );
    refused(
        &[settings(), begin(), trailers("5")],
        "gRPC status NOT_FOUND: \"because\\n\"",
    );
    assert_eq!(
        read(&[settings(), begin(), trailers("4")]),
        Err(Error::TimedOut)
    );
    refused(
        &[settings(), begin(), trailers("99")],
        "gRPC status is \"99\"",
    );
    refused(&[settings(), only(&[ok, grpc])], "gRPC status is \"\"");
    refused(
        &[
            settings(),
            only(&[(":status", "404"), ("content-type", "text/html")]),
        ],
        "HTTP status \"404\", not with gRPC",
    );
    refused(
        &[settings(), only(&[ok, ("content-type", "text/html")])],
        "not with gRPC",
    );
    refused(
        &[settings(), begin(), trailers("0")],
        "no HealthCheckResponse",
    );
    let compressed = frame(DATA, 0, STREAM, b"\x01\0\0\0\x02\x08\x01");
    refused(
        &[settings(), begin(), compressed, trailers("0")],
        "no HealthCheckResponse",
    );
    refused(
        &[settings(), frame(RST_STREAM, 0, STREAM, &[0, 0, 0, 8])],
        "HTTP/2 error 8",
    );
    refused(
        &[settings(), frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])],
        "takes no more calls, HTTP/2 error 11",
    );
}

#[test]
fn what_is_not_http2_is_said() {
    refused(
        &[b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()],
        "does not speak HTTP/2",
    );
    refused(
        &[vec![21, 3, 1, 0, 2, 2, 70, 0, 0]],
        "does not speak HTTP/2",
    );
    refused(&[frame(SETTINGS, ACK, 0, &[])], "does not speak HTTP/2");
    assert_eq!(call().closed(), Error::Closed);
    let mut half = call();
    assert_eq!(half.take(b"SSH-2.0"), Ok(None));
    assert_eq!(half.closed(), Error::NotHttp2);
}

#[test]
fn a_broken_rule_ends_the_call() {
    let cases: [(&[Vec<u8>], &str); 14] = [
        (&[frame(DATA, 0, STREAM, b"x")], "data where none may be"),
        (
            &[begin(), frame(DATA, 0, 3, b"x")],
            "data where none may be",
        ),
        (&[frame(HEADERS, END_HEADERS, 3, b"\x88")], "not there"),
        (
            &[frame(CONTINUATION, END_HEADERS, STREAM, b"")],
            "continuation of nothing",
        ),
        (
            &[frame(HEADERS, 0, STREAM, b"\x88"), settings()],
            "interrupted",
        ),
        (
            &[frame(HEADERS, END_HEADERS, STREAM, b"\xff")],
            "malformed header block",
        ),
        (&[frame(HEADERS, PRIORITY, STREAM, b"\x88")], "short frame"),
        (
            &[begin(), frame(DATA, PADDED, STREAM, b"\x05abc")],
            "padding",
        ),
        (&[frame(PING, 0, 0, b"short")], "malformed ping"),
        (&[frame(SETTINGS, 0, 0, b"odd")], "malformed settings"),
        (&[frame(RST_STREAM, 0, 3, &[0; 4])], "malformed reset"),
        (&[frame(GOAWAY, 0, 0, &[0; 4])], "malformed farewell"),
        (&[frame(PUSH_PROMISE, 0, STREAM, b"")], "a push"),
        (&[begin(), begin()], "trailers that are not the end"),
    ];
    for (frames, want) in cases {
        refused(&[&[settings()], frames].concat(), want);
    }
}

#[test]
fn what_is_too_much_ends_the_call() {
    let mut long = settings();
    long.extend_from_slice(&[1, 0, 0, DATA, 0, 0, 0, 0, 1]);
    refused(&[long], "a frame");
    let parts = vec![frame(CONTINUATION, 0, STREAM, &[0; 9000]); 2];
    let begun = frame(HEADERS, 0, STREAM, b"");
    refused(
        &[&[settings(), begun], parts.as_slice()].concat(),
        "headers",
    );
    let parts = vec![frame(DATA, 0, STREAM, &[0; 3000]); 2];
    refused(
        &[&[settings(), begin()], parts.as_slice()].concat(),
        "a message",
    );
}

/// Mostly good frames, some of them with a byte changed.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let good = prop::sample::select(vec![
        settings(),
        begin(),
        data(b"\x08\x01"),
        trailers("0"),
        trailers("12"),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, 0, 0, &[7; 8]),
        frame(GOAWAY, 0, 0, &[0; 8]),
        frame(RST_STREAM, 0, STREAM, &[0; 4]),
        frame(HEADERS, 0, STREAM, b"\x88"),
        frame(CONTINUATION, END_HEADERS, STREAM, b"\x88"),
    ]);
    let changed = (good, any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    let piece = changed.prop_map(|(mut frame, at, byte, chance)| {
        if chance == 0 {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame
    });
    prop::collection::vec(piece, 0..12).prop_map(|frames| [settings(), frames.concat()].concat())
}

fn cut(pieces: &[&[u8]]) -> Result<Option<Health>, Error> {
    let mut call = call();
    for piece in pieces {
        call.output();
        if let Some(serving) = call.take(piece)? {
            return Ok(Some(serving));
        }
    }
    Ok(None)
}

proptest! {
    #[test]
    fn no_cut_changes_the_status(bytes in streams(), at in any::<prop::sample::Index>()) {
        let (one, two) = bytes.split_at(at.index(bytes.len() + 1));
        prop_assert_eq!(cut(&[&bytes]), cut(&[one, two]));
        let single: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(cut(&[&bytes]), cut(&single));
    }

    #[test]
    fn any_bytes_end_in_a_status_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = cut(&[&bytes]);
        let _ = cut(&[&[settings(), bytes].concat()]);
    }
}
