//! Whom does the app see? The proof that a contender does what it is measured for.

use std::io::Read;
use std::net::SocketAddrV4;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::dialer::Dialer;
use super::header;
use crate::app;

/// The client of the header, and the address that the app saw.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Asked {
    pub(crate) named: SocketAddrV4,
    pub(crate) seen: SocketAddrV4,
}

pub(super) fn ask(mut dialer: Dialer) -> anyhow::Result<Asked> {
    let named = header::client(dialer.next());
    let mut socket = dialer.greet(&[app::WHO])?;
    let mut answer = String::new();
    socket
        .read_to_string(&mut answer)
        .context("the app did not say whom it sees")?;
    let seen = answer.trim().parse();
    Ok(Asked {
        named,
        seen: seen.with_context(|| format!("the app said {answer:?}"))?,
    })
}
