//! Reads one HTTP/1.1 answer, however its bytes come.
//!
//! `httparse`, hyper's own parser, reads head and chunk sizes; hyper's client would bring two crates
//! more than the budget has. Promises: any bytes give an answer, an error or the wish for more, and no
//! cut changes which. Never more than [`BODY`] and [`HEAD`] bytes are kept.

use httparse::{EMPTY_HEADER, ParserConfig, Status, parse_chunk_size};

/// As much of a body as kubelet reads (`maxRespBodyLength`, pkg/probe/http).
pub(crate) const BODY: usize = 10 * 1024;

/// The longest head.
const HEAD: usize = 64 * 1024;

/// Most headers in a head.
const HEADERS: usize = 128;

/// The longest line that gives a chunk's size, extensions and all.
const CHUNK_LINE: usize = 1024;

/// Most interim answers (100, 102, 103) before the one that counts; Go's client has the same bound.
const INTERIM: usize = 5;

/// What the app answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// Its Location header.
    pub(crate) location: Option<String>,
    /// The first bytes of its body.
    pub(crate) body: Vec<u8>,
}

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// Not HTTP.
    #[error("the answer is not HTTP/1: {0}")]
    Head(httparse::Error),
    /// Longer than [`HEAD`].
    #[error("the answer's head is longer than {HEAD} bytes")]
    LongHead,
    /// More than [`INTERIM`].
    #[error("more than {INTERIM} interim answers and no other")]
    Interim,
    /// The length of the body cannot be told.
    #[error("the answer's {0} cannot be understood")]
    Length(&'static str),
    /// The chunks of the body cannot be told apart.
    #[error("the answer's body is not chunked as it says")]
    Chunk,
    /// The app closed too early.
    #[error("the app closed the connection before the end of its answer")]
    Truncated,
}

/// Collects an answer.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    input: Vec<u8>,
    stage: Stage,
    interim: usize,
    answer: Answer,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Head,
    /// So many bytes are to come.
    Counted(u64),
    /// Until the app closes.
    Rest,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Done,
}

enum Step {
    /// Look again: the stage has changed.
    On,
    /// More bytes are needed.
    Wait,
}

impl Reader {
    /// Takes what came; true once the answer is whole.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        self.input.extend_from_slice(bytes);
        while !matches!(self.stage, Stage::Done) {
            match self.step()? {
                Step::On => {}
                Step::Wait => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The app has closed: whether the answer is whole then.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub(crate) fn close(&self) -> Result<(), Error> {
        match self.stage {
            Stage::Rest | Stage::Done => Ok(()),
            _ => Err(Error::Truncated),
        }
    }

    /// The answer, once it is whole.
    pub(crate) fn into_answer(self) -> Answer {
        self.answer
    }

    fn step(&mut self) -> Result<Step, Error> {
        match self.stage {
            Stage::Head => self.head(),
            Stage::Counted(left) => Ok(self.body(left, Stage::Counted, Stage::Done)),
            Stage::Rest => Ok(self.body(u64::MAX, |_| Stage::Rest, Stage::Rest)),
            Stage::ChunkSize => self.chunk_size(),
            Stage::ChunkData(left) => Ok(self.body(left, Stage::ChunkData, Stage::ChunkEnd)),
            Stage::ChunkEnd => self.chunk_end(),
            Stage::Done => Ok(Step::Wait),
        }
    }

    fn head(&mut self) -> Result<Step, Error> {
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response(&mut head, &self.input);
        let len = match parsed.map_err(Error::Head)? {
            Status::Complete(len) if len <= HEAD => len,
            Status::Partial if self.input.len() <= HEAD => return Ok(Step::Wait),
            Status::Complete(_) | Status::Partial => return Err(Error::LongHead),
        };
        let status = head.code.unwrap_or_default();
        if (100..200).contains(&status) && status != 101 {
            self.interim += 1;
            self.input.drain(..len);
            return match self.interim {
                0..=INTERIM => Ok(Step::On),
                _ => Err(Error::Interim),
            };
        }
        let stage = framing(&head)?;
        self.answer.status = status;
        self.answer.location = header(&head, "location")
            .next()
            .map(|value| String::from_utf8_lossy(value).into_owned());
        self.input.drain(..len);
        self.stage = stage;
        Ok(Step::On)
    }

    /// Moves what is there of `left` bytes into the body. A full body ends the answer.
    fn body(&mut self, left: u64, more: impl Fn(u64) -> Stage, end: Stage) -> Step {
        let here = usize::try_from(left).unwrap_or(usize::MAX);
        let here = here.min(self.input.len());
        let room = BODY - self.answer.body.len();
        self.answer
            .body
            .extend_from_slice(&self.input[..here.min(room)]);
        self.input.drain(..here);
        let left = left - here as u64;
        if here >= room && (left > 0 || here > room) {
            self.stage = Stage::Done;
            return Step::On;
        }
        let over = left == 0;
        self.stage = if over { end } else { more(left) };
        if over { Step::On } else { Step::Wait }
    }

    fn chunk_size(&mut self) -> Result<Step, Error> {
        match parse_chunk_size(&self.input).map_err(|_| Error::Chunk)? {
            Status::Complete((len, _)) if len > CHUNK_LINE => Err(Error::Chunk),
            Status::Complete((len, size)) => {
                self.input.drain(..len);
                // What may follow the last chunk says nothing to a probe.
                self.stage = if size == 0 {
                    Stage::Done
                } else {
                    Stage::ChunkData(size)
                };
                Ok(Step::On)
            }
            Status::Partial if self.input.len() > CHUNK_LINE => Err(Error::Chunk),
            Status::Partial => Ok(Step::Wait),
        }
    }

    fn chunk_end(&mut self) -> Result<Step, Error> {
        match self.input.as_slice() {
            [b'\r', b'\n', ..] => {
                self.input.drain(..2);
                self.stage = Stage::ChunkSize;
                Ok(Step::On)
            }
            [] | [b'\r'] => Ok(Step::Wait),
            _ => Err(Error::Chunk),
        }
    }
}

/// How long the body is (RFC 9112, section 6.3).
fn framing(head: &httparse::Response<'_, '_>) -> Result<Stage, Error> {
    if matches!(head.code, Some(101 | 204 | 304)) {
        return Ok(Stage::Done);
    }
    let mut codings = header(head, "transfer-encoding");
    if let (Some(1), Some(coding)) = (head.version, codings.next()) {
        let chunked = coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none();
        return match chunked {
            true => Ok(Stage::ChunkSize),
            false => Err(Error::Length("Transfer-Encoding")),
        };
    }
    let mut lengths = header(head, "content-length");
    let Some(first) = lengths.next() else {
        return Ok(Stage::Rest);
    };
    let digits = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    let same = lengths.all(|other| other == first);
    let length = str::from_utf8(first).ok().filter(|_| digits && same);
    match length.and_then(|length| length.parse().ok()) {
        Some(0) => Ok(Stage::Done),
        Some(length) => Ok(Stage::Counted(length)),
        None => Err(Error::Length("Content-Length")),
    }
}

/// Values of a header, without the space around them.
fn header<'a>(
    head: &'a httparse::Response<'_, '_>,
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    let named = head
        .headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| header.value.trim_ascii())
}

#[cfg(test)]
mod tests;
