//! Why a health call has no status, and what gRPC calls it.

use std::fmt;

/// What of a message from the app is shown.
const SHOWN: usize = 200;

/// Why there is no status.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The first bytes are no SETTINGS frame.
    #[error("the app does not speak HTTP/2 without TLS")]
    NotHttp2,
    /// A rule of HTTP/2 is broken.
    #[error("the app breaks HTTP/2: {0}")]
    Protocol(&'static str),
    /// Too much of something.
    #[error("the app's answer has too much: {0}")]
    TooLong(&'static str),
    /// Closed before the answer's end.
    #[error("the app closed the connection before the end of its answer")]
    Closed,
    /// RST_STREAM.
    #[error("the app cancelled the call with HTTP/2 error {0}")]
    Reset(u32),
    /// GOAWAY.
    #[error("the app takes no more calls, HTTP/2 error {0}")]
    GoneAway(u32),
    /// HTTP/2, but not gRPC.
    #[error("the app answers with HTTP status {0}, not with gRPC")]
    NotGrpc(Shown),
    /// There is no health service.
    #[error("the app does not implement grpc.health.v1.Health: {0}")]
    Unimplemented(Shown),
    /// The app itself gave up when the time was over that we gave it.
    #[error("the app did not answer in time")]
    TimedOut,
    /// Any other status but OK.
    #[error("the app answers with gRPC status {0}: {1}")]
    Status(&'static str, Shown),
    /// A status that gRPC does not know, or none.
    #[error("the app's gRPC status is {0}")]
    NoStatus(Shown),
    /// OK, and something else than one HealthCheckResponse.
    #[error("the app's answer is no HealthCheckResponse")]
    Message,
}

/// Text of the app in a sentence of ours: cut, and with nothing that a log could stumble over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown(String);

impl Shown {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
        Self(text.escape_debug().to_string())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// Status codes of gRPC, by number.
pub(super) const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
