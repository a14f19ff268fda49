//! go-mmproxy's flags as a configuration of one port, so that its users change only the program.
//!
//! The meaning is go-mmproxy's with one exception: an absent, unreadable or empty list of allowed
//! subnets refuses to start, where go-mmproxy lets everybody in.

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use super::file::{
    AccessLog, AccessLogMode, Admin, Drain, File, Header, Limits, Peers, Port, SourceMode, Timeouts,
};
use super::values::{App, AppAddresses, Listen, Network};

/// What the flags say, each as go-mmproxy names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    /// `-l`
    pub listen: SocketAddr,
    /// `-4`
    pub ipv4: SocketAddrV4,
    /// `-6`
    pub ipv6: SocketAddrV6,
    /// `-mark`
    pub mark: u32,
    /// `-listeners`
    pub listeners: usize,
    /// `-v`
    pub verbose: u8,
    /// `--source-mode`, ours.
    pub source_mode: SourceMode,
    /// `--admin`, ours: by default there is none, as go-mmproxy has none.
    pub admin: Option<SocketAddr>,
}

/// Why a list of allowed subnets cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BadSubnet {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// The configuration that the flags and the text of the `-allowed-subnets` file stand for.
///
/// # Errors
/// The first line that is no network. An empty list is refused when the result is checked.
pub fn file(flags: &Flags, subnets: &str) -> Result<File, BadSubnet> {
    let port = Port {
        name: "tcp".to_owned(),
        port: None,
        listen: Listen::Addresses(vec![flags.listen]),
        app: Some(App::Addresses(AppAddresses {
            ipv4: Some(flags.ipv4),
            ipv6: Some(flags.ipv6),
        })),
        peers: Peers {
            require: networks(subnets)?,
            ..Peers::default()
        },
        header: Header::default(),
        claims: super::file::Claims::default(),
        timeouts: Timeouts::default(),
        missing_family: crate::connection::ladder::MissingFamily::default(),
    };
    let mode = match flags.verbose {
        0 => AccessLogMode::Off,
        1 => AccessLogMode::Errors,
        _ => AccessLogMode::All,
    };
    Ok(File {
        version: 1,
        ports: vec![port],
        limits: Limits::default(),
        access_log: AccessLog {
            mode,
            ..AccessLog::default()
        },
        drain: Drain::default(),
        admin: Admin {
            listen: Listen::Addresses(flags.admin.into_iter().collect()),
        },
        source_mode: flags.source_mode,
        mark: flags.mark,
        workers: Some(flags.listeners),
    })
}

/// A CIDR a line, as in go-mmproxy; empty lines and what follows `#` are passed over, as in its
/// successor.
fn networks(text: &str) -> Result<Vec<Network>, BadSubnet> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()));
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(line, text)| text.parse().map_err(|message| BadSubnet { line, message }))
        .collect()
}
