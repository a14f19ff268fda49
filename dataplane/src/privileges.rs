//! What this process may do, and giving up what it does not need.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;

use crate::routes::SourceMode;

/// Why privileges could not be given up. The kernel refuses none of this; a seccomp profile might.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `PR_SET_NO_NEW_PRIVS`.
    #[error("could not give up gaining privileges by exec")]
    NoNewPrivileges(#[source] Errno),
    /// capset(2) or `PR_CAPBSET_DROP`.
    #[error("could not give up capabilities")]
    Capabilities(#[source] CapsError),
}

/// Keeps what of `keep` we have, drops every other capability, and makes sure that no exec brings
/// one back. To be called before threads are made: capabilities are a thread's.
///
/// # Errors
/// When the kernel refuses.
pub fn reduce(keep: &CapsHashSet) -> Result<(), Error> {
    prctl::set_no_new_privs().map_err(Error::NoNewPrivileges)?;
    let capabilities = || {
        let permitted = caps::read(None, CapSet::Permitted)?;
        let kept: CapsHashSet = permitted.intersection(keep).copied().collect();
        // The bounding set needs SETPCAP; without it there is nothing to bound that we could have.
        if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
            let bounding = caps::read(None, CapSet::Bounding)?;
            bounding
                .difference(&kept)
                .try_for_each(|cap| caps::drop(None, CapSet::Bounding, *cap))?;
        }
        caps::clear(None, CapSet::Ambient)?;
        caps::set(None, CapSet::Effective, &CapsHashSet::new())?;
        caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
        caps::set(None, CapSet::Permitted, &kept)?;
        caps::set(None, CapSet::Effective, &kept)
    };
    capabilities().map_err(Error::Capabilities)
}

/// Capabilities that these settings need, where they are to be had.
pub fn needed(mode: SourceMode, mark: u32) -> CapsHashSet {
    let either = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
    match (mode, mark) {
        (SourceMode::Routed, 0) => CapsHashSet::new(),
        _ => either.into_iter().collect(),
    }
}
