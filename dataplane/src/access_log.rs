//! One JSON line per connection, at its end.
//!
//! Workers hand records to a thread of ours and never wait for it: a log pipe that nobody reads
//! costs lines, which are counted, not connections. Bytes of peers are escaped, never raw.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use proxyunwrap_header::Version;
use proxyunwrap_header::tlv::{SslPart, Tlvs};
use serde::{Deserialize, Serialize};

use crate::connection::Way;
use crate::connection::ladder::Attempt;
use crate::connection::outcome::Outcome;

/// Records that may wait for the writer.
const QUEUE: usize = 4096;

/// Longest value of a TLV in a line, in bytes; a certificate does not belong in a log.
const TLV_MAX: usize = 256;

/// A TLV that the log can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tlv {
    /// The protocol negotiated by TLS.
    Alpn,
    /// The host name that the client asked for.
    Authority,
    /// The id that the sender gave the connection.
    UniqueId,
    /// The sender's network namespace.
    Netns,
    /// TLS version towards the client.
    SslVersion,
    /// Common name of the client's certificate.
    SslCn,
    /// Cipher towards the client.
    SslCipher,
    /// AWS VPC endpoint.
    AwsVpceId,
    /// Azure Private Link.
    AzureLinkId,
    /// Google Private Service Connect.
    GcpPscConnectionId,
}

impl Tlv {
    /// What is shown unless configured otherwise. Vendors' TLVs are not: type 0xE0 is used by two.
    pub const DEFAULT: [Self; 5] = [
        Self::Alpn,
        Self::Authority,
        Self::UniqueId,
        Self::SslVersion,
        Self::SslCn,
    ];

    /// Its key in the line.
    fn key(self) -> &'static str {
        match self {
            Self::Alpn => "alpn",
            Self::Authority => "authority",
            Self::UniqueId => "unique_id",
            Self::Netns => "netns",
            Self::SslVersion => "ssl_version",
            Self::SslCn => "ssl_cn",
            Self::SslCipher => "ssl_cipher",
            Self::AwsVpceId => "aws_vpce_id",
            Self::AzureLinkId => "azure_link_id",
            Self::GcpPscConnectionId => "gcp_psc_connection_id",
        }
    }
}

/// What a connection was, at its end.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of its port.
    pub port: Arc<str>,
    /// Who opened it.
    pub peer: SocketAddr,
    /// Whom the app saw; None when no header was accepted.
    pub client: Option<SocketAddr>,
    /// The header's version.
    pub version: Option<Version>,
    /// How the app was reached.
    pub dialled: Option<Attempt>,
    /// Shown TLVs, already text.
    pub tlvs: Vec<(Tlv, String)>,
    /// How it ended.
    pub outcome: Outcome,
    /// Payload bytes written to the app and to the peer.
    pub moved: [u64; 2],
    /// From accept to close.
    pub duration: Duration,
}

/// How long the last lines may take to be written at the end.
const FLUSH: Duration = Duration::from_secs(1);

/// Where workers leave records.
#[derive(Clone, Debug)]
pub struct AccessLog {
    queue: SyncSender<Record>,
}

/// The thread that writes; to be waited for at the end, or the last lines are lost.
#[derive(Debug)]
pub struct Writer {
    ended: Receiver<()>,
}

impl Writer {
    /// Waits until every record was written, after every [`AccessLog`] is gone; a second at most,
    /// for a pipe that nobody reads must not keep us.
    pub fn finish(self) {
        let _ = self.ended.recv_timeout(FLUSH);
    }
}

impl AccessLog {
    /// Starts the writing thread.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<(Self, Writer)> {
        let (queue, records) = sync_channel(QUEUE);
        let (end, ended) = channel();
        let write = move || write_all(&records, output, end);
        thread::Builder::new()
            .name("access-log".into())
            .spawn(write)?;
        Ok((Self { queue }, Writer { ended }))
    }

    /// Leaves a record; false when the writer cannot keep up and the line is lost.
    pub fn record(&self, record: Record) -> bool {
        self.queue.try_send(record).is_ok()
    }
}

/// The chosen TLVs of a header, as text.
pub fn shown(tlvs: Tlvs<'_>, chosen: &[Tlv]) -> Vec<(Tlv, String)> {
    let mut found: Vec<_> = tlvs.filter_map(Result::ok).flat_map(texts).collect();
    found.retain(|(tlv, _)| chosen.contains(tlv));
    found.sort_by_key(|(tlv, _)| *tlv);
    found.dedup_by_key(|(tlv, _)| *tlv);
    found
}

fn texts(tlv: proxyunwrap_header::tlv::Tlv<'_>) -> Vec<(Tlv, String)> {
    let plain = [
        (Tlv::Alpn, tlv.alpn()),
        (Tlv::Authority, tlv.authority()),
        (Tlv::UniqueId, tlv.unique_id()),
        (Tlv::Netns, tlv.netns()),
        (Tlv::AwsVpceId, tlv.aws_vpce_id()),
    ];
    let numbers = [
        (Tlv::AzureLinkId, tlv.azure_link_id().map(u64::from)),
        (Tlv::GcpPscConnectionId, tlv.gcp_psc_connection_id()),
    ];
    let plain = plain
        .into_iter()
        .filter_map(|(key, value)| Some((key, escaped(value?))));
    let numbers = numbers
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?.to_string())));
    plain.chain(numbers).chain(ssl_texts(tlv)).collect()
}

fn ssl_texts(tlv: proxyunwrap_header::tlv::Tlv<'_>) -> Vec<(Tlv, String)> {
    let Some(ssl) = tlv.ssl() else {
        return Vec::new();
    };
    let texts = ssl
        .parts()
        .filter_map(Result::ok)
        .filter_map(|part| match part {
            SslPart::Version(value) => Some((Tlv::SslVersion, escaped(value))),
            SslPart::CommonName(value) => Some((Tlv::SslCn, escaped(value))),
            SslPart::Cipher(value) => Some((Tlv::SslCipher, escaped(value))),
            _ => None,
        });
    texts.collect()
}

/// Printable ASCII as it is, everything else as `\xNN`.
fn escaped(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(TLV_MAX)].escape_ascii().to_string()
}

/// Until no worker is left; `_end` then goes, which tells [`Writer::finish`].
fn write_all(records: &Receiver<Record>, mut output: impl Write, _end: Sender<()>) {
    while let Ok(record) = records.recv() {
        let mut text = line(&record, SystemTime::now());
        // What has gathered meanwhile goes out in the same write.
        for record in records.try_iter().take(QUEUE) {
            text.push_str(&line(&record, SystemTime::now()));
        }
        // A closed pipe is no reason to end: the connections matter more than their log.
        let _ = output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush());
    }
}

/// The fields of a line, in this order.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    port: &'a str,
    client: Option<SocketAddr>,
    peer: SocketAddr,
    app: Option<SocketAddr>,
    version: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    dialled: Option<&'static str>,
    bytes_to_app: u64,
    bytes_to_client: u64,
    duration_ms: u128,
    tlvs: BTreeMap<&'static str, &'a str>,
}

/// The line of a record, with its line feed.
fn line(record: &Record, now: SystemTime) -> String {
    let line = Line {
        time: humantime::format_rfc3339_millis(now).to_string(),
        port: &record.port,
        client: record.client,
        peer: record.peer,
        app: record.dialled.map(|attempt| attempt.destination),
        version: record.version.map_or("none", Version::label),
        outcome: record.outcome.label(),
        reason: record.outcome.reason(),
        dialled: record.dialled.map(|attempt| attempt.step.label()),
        bytes_to_app: record.moved[Way::ToApp as usize],
        bytes_to_client: record.moved[Way::ToPeer as usize],
        duration_ms: record.duration.as_millis(),
        tlvs: record
            .tlvs
            .iter()
            .map(|(tlv, text)| (tlv.key(), text.as_str()))
            .collect(),
    };
    // Only a map with keys that are no text can fail.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests;
