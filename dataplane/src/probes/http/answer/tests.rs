use proptest::prelude::*;

use super::*;

/// The answer in these bytes, which the app ends by closing.
fn read(bytes: &[u8]) -> Result<Answer, Error> {
    read_cut(&[bytes])
}

fn read_cut(pieces: &[&[u8]]) -> Result<Answer, Error> {
    let mut reader = Reader::default();
    for piece in pieces {
        if reader.take(piece)? {
            return Ok(reader.into_answer());
        }
    }
    reader.close()?;
    Ok(reader.into_answer())
}

#[track_caller]
fn check(text: &str, status: u16, body: &str) {
    let answer = read(text.as_bytes()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!((answer.status, text.as_str()), (status, body));
}

#[test]
fn a_body_ends_as_its_head_says() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore",
        200,
        "ok",
    );
    check("HTTP/1.0 503 Down\r\n\r\nto the end", 503, "to the end");
    check("HTTP/1.1 204 No Content\r\n\r\nnothing", 204, "");
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 1\r\n\r\n\
         3;x=y\r\none\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
        200,
        "one0123456789",
    );
    check(
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n",
        200,
        "3\r\n",
    );
}

#[test]
fn interim_answers_are_passed_over() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    check(&format!("{early}{early}{last}"), 200, "");
    let endless = early.repeat(INTERIM + 1);
    assert_eq!(read(endless.as_bytes()), Err(Error::Interim));
    check("HTTP/1.1 101 Switching\r\n\r\n", 101, "");
}

#[test]
fn a_location_is_kept_as_it_is() {
    let answer = read(b"HTTP/1.1 302 Found\r\nlocation:  /x \r\nContent-Length: 0\r\n\r\n");
    assert_eq!(answer.unwrap().location.as_deref(), Some("/x"));
}

#[test]
fn no_more_of_a_body_is_read_than_kubelet_reads() {
    let whole = "x".repeat(BODY + 1);
    for head in [
        "Content-Length: 999999999999",
        "Transfer-Encoding: chunked",
        "X: y",
    ] {
        let size = if head.starts_with('T') {
            "FFFFFFFF\r\n"
        } else {
            ""
        };
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{size}{whole}");
        let mut reader = Reader::default();
        assert_eq!(reader.take(text.as_bytes()), Ok(true), "{head}");
        assert_eq!(reader.into_answer().body.len(), BODY, "{head}");
    }
    let exact = &whole[..BODY];
    check(
        &format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n{exact}"),
        200,
        exact,
    );
}

#[test]
fn an_answer_that_lies_is_an_error() {
    let refused = [
        ("SSH-2.0-OpenSSH\r\n", Error::Head(httparse::Error::Version)),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
            Error::Truncated,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Le", Error::Truncated),
        ("", Error::Truncated),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc",
            Error::Length("Content-Length"),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            Error::Length("Content-Length"),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
            Error::Length("Transfer-Encoding"),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            Error::Chunk,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            Error::Chunk,
        ),
    ];
    for (text, error) in refused {
        assert_eq!(read(text.as_bytes()), Err(error), "{text:?}");
    }
}

#[test]
fn endless_heads_and_chunk_lines_are_cut_off() {
    let head = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD));
    assert_eq!(read(head.as_bytes()), Err(Error::LongHead));
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;";
    let chunk = format!("{chunk}{}", "x".repeat(CHUNK_LINE));
    assert_eq!(read(chunk.as_bytes()), Err(Error::Chunk));
}

const PIECES: [&str; 12] = [
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 302 Found\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Location: /x\r\n",
    "\r\n",
    "hello",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "5;a=b\r\nhel",
    "\0\u{ff}",
];

fn answers() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_cut_changes_the_answer(bytes in answers(), cut in any::<prop::sample::Index>()) {
        let (one, two) = bytes.split_at(cut.index(bytes.len() + 1));
        prop_assert_eq!(read(&bytes), read_cut(&[one, two]));
        let single: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(read(&bytes), read_cut(&single));
    }

    #[test]
    fn any_bytes_end_in_an_answer_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let _ = read(&[b"HTTP/1.1 200 OK\r\n", bytes.as_slice()].concat());
        let _ = read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", bytes.as_slice()].concat());
    }
}
