//! One gRPC call on one HTTP/2 connection, without I/O: bytes in, bytes out, a status at the end.
//!
//! It knows the frames that such a call meets (RFC 9113) and is strict about them. Promises: any bytes
//! give a status, an error or the wish for more, no cut changes which, and never more than
//! one frame, [`MAX_BLOCK`] and [`MAX_MESSAGE`] bytes of each are kept. What it says back is no
//! longer than what came.

mod error;
mod frame;

use std::time::Duration;

use super::health::{self, Health};
use super::hpack::{self, Decoder, Header};
pub(super) use error::Error;
use error::{CODES, Shown};
use frame::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const PATH: &str = "/grpc.health.v1.Health/Check";

/// The only stream there is.
const STREAM: u32 = 1;

/// A header block with its continuations.
const MAX_BLOCK: usize = 16_384;

/// A HealthCheckResponse has two bytes; more is no such message.
const MAX_MESSAGE: usize = 4096;

/// What is asked.
pub(super) struct Question<'a> {
    /// Host and port as kubelet would have named them.
    pub(super) authority: String,
    /// kubelet's own name.
    pub(super) agent: &'a str,
    /// "" is the whole app.
    pub(super) service: &'a str,
    /// How long the app may take.
    pub(super) timeout: Duration,
}

/// The call.
#[derive(Debug)]
pub(super) struct Call {
    input: Vec<u8>,
    output: Vec<u8>,
    decoder: Decoder,
    greeted: bool,
    /// A header block whose end is still to come, and whether the stream ends with it.
    block: Option<(Vec<u8>, bool)>,
    headers: Vec<Header>,
    /// Whether the headers that are not interim have come.
    answered: bool,
    message: Vec<u8>,
}

impl Call {
    pub(super) fn new(question: &Question<'_>) -> Self {
        Self {
            input: Vec::new(),
            output: opening(question),
            decoder: Decoder::default(),
            greeted: false,
            block: None,
            headers: Vec::new(),
            answered: false,
            message: Vec::new(),
        }
    }

    /// What is to be sent now.
    pub(super) fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Takes what came; the status once the answer is whole.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Option<Health>, Error> {
        self.input.extend_from_slice(bytes);
        while let Some(frame) = Frame::cut(&mut self.input, !self.greeted)? {
            self.greeted = true;
            if self.obey(&frame)? {
                return self.status().map(Some);
            }
        }
        Ok(None)
    }

    /// The app has closed without a whole answer.
    pub(super) fn closed(&self) -> Error {
        match self.greeted {
            true => Error::Closed,
            false if self.input.is_empty() => Error::Closed,
            false => Error::NotHttp2,
        }
    }

    /// True when the answer is whole.
    fn obey(&mut self, frame: &Frame) -> Result<bool, Error> {
        if self.block.is_some() && frame.kind != CONTINUATION {
            return Err(Error::Protocol("a header block is interrupted"));
        }
        match frame.kind {
            DATA => self.data(frame),
            HEADERS => self.begin_block(frame),
            CONTINUATION => self.go_on_with_block(frame),
            RST_STREAM => reset(frame),
            SETTINGS => self.settings(frame),
            PING => self.ping(frame),
            GOAWAY => gone_away(frame),
            PUSH_PROMISE => Err(Error::Protocol("a push, which we forbid")),
            // PRIORITY and WINDOW_UPDATE say nothing to us; unknown kinds are to be passed over.
            _ => Ok(false),
        }
    }

    fn data(&mut self, frame: &Frame) -> Result<bool, Error> {
        if frame.stream != STREAM || !self.answered {
            return Err(Error::Protocol("data where none may be"));
        }
        self.message.extend_from_slice(frame.unpadded()?);
        if self.message.len() > MAX_MESSAGE {
            return Err(Error::TooLong("a message"));
        }
        Ok(frame.flags & END_STREAM != 0)
    }

    fn begin_block(&mut self, frame: &Frame) -> Result<bool, Error> {
        if frame.stream != STREAM {
            return Err(Error::Protocol("headers of a stream that is not there"));
        }
        let mut part = frame.unpadded()?;
        if frame.flags & PRIORITY != 0 {
            part = part.get(5..).ok_or(Error::Protocol("a short frame"))?;
        }
        let ends = frame.flags & END_STREAM != 0;
        self.block = Some((part.to_vec(), ends));
        self.end_block(frame)
    }

    fn go_on_with_block(&mut self, frame: &Frame) -> Result<bool, Error> {
        match &mut self.block {
            Some((block, _)) if frame.stream == STREAM => block.extend_from_slice(&frame.payload),
            _ => return Err(Error::Protocol("a continuation of nothing")),
        }
        self.end_block(frame)
    }

    fn end_block(&mut self, frame: &Frame) -> Result<bool, Error> {
        let Some((block, ends)) = self.block.take() else {
            return Ok(false);
        };
        if block.len() > MAX_BLOCK {
            return Err(Error::TooLong("headers"));
        }
        if frame.flags & END_HEADERS == 0 {
            self.block = Some((block, ends));
            return Ok(false);
        }
        let headers = self.decoder.block(&block);
        let headers = headers.map_err(|_| Error::Protocol("a malformed header block"))?;
        if self.answered {
            if !ends {
                return Err(Error::Protocol("trailers that are not the end"));
            }
            self.headers.extend(headers);
            return Ok(true);
        }
        let interim = headers
            .iter()
            .any(|(name, value)| name == b":status" && value.starts_with(b"1"));
        if interim && ends {
            return Err(Error::Protocol("an interim answer that is the end"));
        }
        if !interim {
            self.answered = true;
            self.headers = headers;
        }
        Ok(ends)
    }

    fn settings(&mut self, frame: &Frame) -> Result<bool, Error> {
        if frame.stream != 0 || !frame.payload.len().is_multiple_of(6) {
            return Err(Error::Protocol("malformed settings"));
        }
        if frame.flags & ACK == 0 {
            put(&mut self.output, SETTINGS, ACK, 0, &[]);
        }
        Ok(false)
    }

    fn ping(&mut self, frame: &Frame) -> Result<bool, Error> {
        if frame.stream != 0 || frame.payload.len() != 8 {
            return Err(Error::Protocol("a malformed ping"));
        }
        if frame.flags & ACK == 0 {
            put(&mut self.output, PING, ACK, 0, &frame.payload);
        }
        Ok(false)
    }

    /// What the whole answer says.
    fn status(&self) -> Result<Health, Error> {
        let http = self.header(":status");
        let grpc = self.header("content-type").starts_with(b"application/grpc");
        if http != b"200" || !grpc {
            return Err(Error::NotGrpc(Shown::new(http)));
        }
        let text = || Shown::new(self.header("grpc-message"));
        let code = self.header("grpc-status");
        let name = str::from_utf8(code).ok().and_then(|code| code.parse().ok());
        match name.and_then(|code: usize| CODES.get(code)) {
            Some(&"OK") => self.response().ok_or(Error::Message),
            Some(&"DEADLINE_EXCEEDED") => Err(Error::TimedOut),
            Some(&"UNIMPLEMENTED") => Err(Error::Unimplemented(text())),
            Some(name) => Err(Error::Status(name, text())),
            None => Err(Error::NoStatus(Shown::new(code))),
        }
    }

    /// The one message: not compressed, its length, itself.
    fn response(&self) -> Option<Health> {
        let (head, message) = self.message.split_first_chunk::<5>()?;
        let [compressed, len @ ..] = *head;
        let whole = u32::from_be_bytes(len) as usize == message.len();
        (compressed == 0 && whole)
            .then(|| health::status(message))
            .flatten()
    }

    /// The last value, which is the trailer's where both have one.
    fn header(&self, name: &str) -> &[u8] {
        let mut named = self.headers.iter().rev();
        let found = named.find(|(other, _)| other == name.as_bytes());
        found.map_or(&[], |(_, value)| value)
    }
}

/// Everything we say unasked: it is short enough for every window and frame.
fn opening(question: &Question<'_>) -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    // SETTINGS_ENABLE_PUSH: 0
    put(&mut bytes, SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0]);
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", PATH),
        (":authority", &question.authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", question.agent),
        ("grpc-timeout", &timeout(question.timeout)),
    ] {
        hpack::write(&mut block, name, value);
    }
    put(&mut bytes, HEADERS, END_HEADERS, STREAM, &block);
    let message = health::request(question.service);
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let data = [&[0], &len.to_be_bytes()[..], &message].concat();
    put(&mut bytes, DATA, END_STREAM, STREAM, &data);
    bytes
}

/// At most eight digits and a unit.
fn timeout(left: Duration) -> String {
    match left.as_millis() {
        millis @ 0..=99_999_999 => format!("{}m", millis.max(1)),
        _ => format!("{}S", left.as_secs().min(99_999_999)),
    }
}

fn reset(frame: &Frame) -> Result<bool, Error> {
    match frame.number(0) {
        Some(code) if frame.stream == STREAM => Err(Error::Reset(code)),
        _ => Err(Error::Protocol("a malformed reset")),
    }
}

/// An app that drains may still answer calls up to a number: only ours matters.
fn gone_away(frame: &Frame) -> Result<bool, Error> {
    match (frame.number(0), frame.number(4)) {
        (Some(last), Some(_)) if last & 0x7fff_ffff >= STREAM => Ok(false),
        (Some(_), Some(code)) => Err(Error::GoneAway(code)),
        _ => Err(Error::Protocol("a malformed farewell")),
    }
}

#[cfg(test)]
mod tests;
