//! What the io_uring back end relies on, tried on the kernel: buffers, order, nothing lost.
#![allow(clippy::panic, reason = "a panic is how a test fails")]

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::eventfd::EventFd;
use proxyunwrap_dataplane::sys::ring::{Buffer, Completion, Done, Ring};

/// Long enough for two slow cores that do something else, too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Buffers for receives that go on.
const SMALL: usize = 512;

#[test]
fn what_was_received_is_sent_from_its_buffer() {
    let mut ring = ring();
    let (mut from, ours) = pair();
    let (to, mut reader) = pair();
    ring.receive(&ours, 100, false, 1);
    from.write_all(b"hello").unwrap();
    let (result, _) = received(next(&mut ring), 1);
    ring.send(&to, result.unwrap().unwrap(), 2);
    let Completion {
        token: 2,
        done: Done::Sent(Ok(5), buffer),
    } = next(&mut ring)
    else {
        panic!("it was sent");
    };
    assert_eq!(&*buffer, b"hello");
    let mut text = [0; 5];
    reader.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hello");
}

#[test]
fn a_receive_that_goes_on_brings_every_byte_in_order_and_then_the_end() {
    let mut ring = ring();
    let (mut from, ours) = pair();
    ring.receive_many(&ours, 1);
    let mut got = Vec::new();
    // More messages than there are buffers: each is free again when it was looked at.
    for number in 0..3 * SMALL as u32 {
        from.write_all(&number.to_be_bytes()).unwrap();
        let (result, goes_on) = received(next(&mut ring), 1);
        got.extend_from_slice(&result.unwrap().unwrap());
        assert!(goes_on, "after {number}");
    }
    let want: Vec<u8> = (0..3 * SMALL as u32).flat_map(u32::to_be_bytes).collect();
    assert!(got == want, "{} bytes of {}", got.len(), want.len());
    drop(from);
    let (result, goes_on) = received(next(&mut ring), 1);
    assert!(result.unwrap().is_none() && !goes_on);
}

#[test]
fn without_a_free_buffer_a_receive_ends_and_leaves_the_bytes_where_they_are() {
    let mut ring = ring();
    let (mut from, ours) = pair();
    ring.receive_many(&ours, 1);
    let mut kept = Vec::new();
    for _ in 0..SMALL {
        from.write_all(b"x").unwrap();
        let (result, _) = received(next(&mut ring), 1);
        kept.push(result.unwrap().unwrap());
    }
    from.write_all(b"last").unwrap();
    let (result, goes_on) = received(next(&mut ring), 1);
    assert_eq!((result.unwrap_err(), goes_on), (Errno::ENOBUFS, false));
    drop(kept);
    ring.receive_many(&ours, 1);
    let (result, _) = received(next(&mut ring), 1);
    assert_eq!(&*result.unwrap().unwrap(), b"last");
}

#[test]
fn a_receive_that_was_taken_back_says_so_and_takes_nothing() {
    let mut ring = ring();
    let (mut from, ours) = pair();
    ring.receive_many(&ours, 1);
    ring.cancel_receive_many(1);
    let (result, goes_on) = received(next(&mut ring), 1);
    assert_eq!((result.unwrap_err(), goes_on), (Errno::ECANCELED, false));
    from.write_all(b"mine").unwrap();
    ring.receive(&ours, 100, true, 2);
    let (result, _) = received(next(&mut ring), 2);
    assert_eq!(&*result.unwrap().unwrap(), b"mine");
}

#[test]
fn a_socket_is_closed_behind_what_was_asked_of_it() {
    let mut ring = ring();
    let (mut from, ours) = pair();
    from.write_all(b"before").unwrap();
    ring.receive(&ours, 100, false, 1);
    ring.close(OwnedFd::from(ours));
    let (result, _) = received(next(&mut ring), 1);
    assert_eq!(&*result.unwrap().unwrap(), b"before");
    ring.wait(Some(Duration::ZERO)).unwrap();
    assert_eq!(from.read(&mut [0]).unwrap(), 0, "it is closed");
}

#[test]
fn more_requests_and_completions_than_there_are_places_for_are_all_there() {
    const MANY: u64 = 20_000;
    let mut ring = ring();
    let ready = EventFd::from_value(1).unwrap();
    (0..MANY).for_each(|token| ring.poll(&ready, PollFlags::POLLIN, token));
    let mut tokens: Vec<_> = (0..MANY).map(|_| next(&mut ring).token).collect();
    tokens.sort_unstable();
    assert!(tokens.into_iter().eq(0..MANY));
}

#[test]
fn a_wait_ends_in_time_though_nothing_comes() {
    let mut ring = ring();
    ring.wait(Some(Duration::from_millis(1))).unwrap();
    assert!(!ring.has_completed());
}

#[track_caller]
fn ring() -> Ring {
    Ring::new().expect("these tests need io_uring: Linux 6.1, no seccomp filter against it")
}

/// A stream whose ends nobody waits at.
#[track_caller]
fn pair() -> (UnixStream, UnixStream) {
    let (one, other) = UnixStream::pair().expect("a descriptor is free");
    one.set_read_timeout(Some(PATIENCE)).expect("a socket");
    other.set_read_timeout(Some(PATIENCE)).expect("a socket");
    (one, other)
}

#[track_caller]
fn next(ring: &mut Ring) -> Completion {
    if !ring.has_completed() {
        ring.wait(Some(PATIENCE)).expect("it waits");
    }
    ring.completed().expect("something is completed")
}

#[track_caller]
fn received(completion: Completion, want: u64) -> (Result<Option<Buffer>, Errno>, bool) {
    assert_eq!(completion.token, want);
    match completion.done {
        Done::Received {
            result, goes_on, ..
        } => (result, goes_on),
        other => panic!("{other:?}"),
    }
}
