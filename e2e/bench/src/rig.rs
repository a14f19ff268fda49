//! The places where contenders run and the programs in them. It touches nothing of the machine's network,
//! ends only what it started, and leaves nothing behind.

pub(crate) mod family;
pub(crate) mod namespace;
pub(crate) mod process;
pub(crate) mod quiet;
pub(crate) mod wait;
