use std::sync::{Mutex, PoisonError};

use super::*;
use crate::connection::ladder::Step;
use crate::connection::outcome::HeaderError;

/// Keeps what is written.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(outcome: Outcome) -> Record {
    Record {
        port: "web".into(),
        peer: "10.0.0.9:40000".parse().unwrap(),
        client: Some("203.0.113.7:51000".parse().unwrap()),
        version: Some(Version::V2),
        dialled: Some(Attempt {
            source: None,
            destination: "127.0.0.1:8080".parse().unwrap(),
            step: Step::AsClient,
        }),
        tlvs: vec![(Tlv::Authority, escaped(b"a\"b\n\xff"))],
        outcome,
        moved: [4, 9],
        duration: Duration::from_millis(12),
    }
}

#[test]
fn a_line_says_who_to_whom_and_how_it_ended() {
    let line = line(&record(Outcome::Ok), SystemTime::UNIX_EPOCH);
    let want = concat!(
        r#"{"time":"1970-01-01T00:00:00.000Z","port":"web","client":"203.0.113.7:51000","#,
        r#""peer":"10.0.0.9:40000","app":"127.0.0.1:8080","version":"v2","outcome":"ok","#,
        r#""dialled":"as_client","bytes_to_app":4,"bytes_to_client":9,"duration_ms":12,"#,
        r#""tlvs":{"authority":"a\\\"b\\n\\xff"}}"#,
        "\n"
    );
    assert_eq!(line, want);
}

#[test]
fn what_was_recorded_is_written_before_the_end() {
    let page = Page::default();
    let (log, writer) = AccessLog::start(page.clone()).unwrap();
    let outcome = Outcome::BadHeader(HeaderError::TimedOut);
    (0..100).for_each(|_| assert!(log.record(record(outcome))));
    drop(log);
    writer.finish();
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("timed_out"))
            .count(),
        100
    );
}

#[test]
fn a_writer_that_is_stuck_costs_lines_not_time() {
    struct Stuck;
    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (log, _writer) = AccessLog::start(Stuck).unwrap();
    let lost = (0..3 * QUEUE)
        .filter(|_| !log.record(record(Outcome::Ok)))
        .count();
    assert!(lost >= QUEUE, "{lost}");
}

#[test]
fn a_long_tlv_is_cut() {
    assert_eq!(escaped(&[b'x'; 5_000]).len(), TLV_MAX);
}

#[test]
fn only_chosen_tlvs_are_shown() {
    let header = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x0a\x01\x00\x02h2\x02\x00\x02ab";
    let parsed = proxyunwrap_header::parse(header, &proxyunwrap_header::Rules::default());
    let Ok(proxyunwrap_header::Progress::Complete(header)) = parsed else {
        panic!("{parsed:?}")
    };
    assert_eq!(header.tlvs().count(), 2);
    assert_eq!(
        shown(header.tlvs(), &[Tlv::Alpn]),
        [(Tlv::Alpn, "h2".to_owned())]
    );
}
