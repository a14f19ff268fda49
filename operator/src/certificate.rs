//! The webhook's certificate: made, kept, trusted and swapped without a failed request.
//!
//! One Secret holds all of it, so that replicas share it and a new leader knows where the last one
//! stopped: `tls.crt`, `tls.key` what is served; `ca.crt` every CA that is to be trusted; `ca.key`
//! the key of the one that signs next. The leader alone writes: [`keep()`]. Every replica loads what
//! the Secret holds: [`follow()`].
//!
//! A new CA is trusted first and used later. It enters `ca.crt`, and with it the configuration of
//! the webhook; only when that was so for [`plan::GRACE`] is the server's certificate signed by it.
//! The old one leaves when nobody can be serving its certificates any more.
//!
//! With `certificate.managed: false` somebody else (cert-manager) writes Secret and configuration,
//! and we only load.

mod bundle;
mod follow;
mod keep;
mod loaded;
mod make;
mod plan;
mod renew;
mod seen;
mod state;

pub use follow::{Served, follow};
pub use keep::{Keeper, keep};
pub use loaded::{Loaded, Unusable};
pub use seen::{Seen, observe};

/// Keys of the Secret.
mod key {
    pub(super) const LEAF: &str = "tls.crt";
    pub(super) const LEAF_KEY: &str = "tls.key";
    pub(super) const BUNDLE: &str = "ca.crt";
    pub(super) const SIGNER_KEY: &str = "ca.key";
}

/// Names of the webhook's Service, as an API server may call it.
pub fn names(service: &str, namespace: &str) -> Vec<String> {
    vec![
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
        format!("{service}.{namespace}"),
    ]
}
