//! Whether the API server may ask this replica about pods.
//!
//! Ready: the world is whole, a certificate is loaded, the API server's configuration trusts it
//! (unless somebody else keeps both), and the process is not ending. An answer from half a world
//! would leave pods without their sidecar.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::watch::Stores;

/// What readiness follows from. Clones share it.
#[derive(Clone)]
pub struct Readiness {
    stores: Stores,
    facts: Arc<Mutex<Facts>>,
}

#[derive(Default)]
struct Facts {
    certificate: Trust,
    ending: bool,
}

/// Where the served certificate stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// None is loaded, and why.
    Missing(String),
    /// One is loaded, and the API server does not trust it yet, and why.
    Untrusted(String),
    /// One is loaded and trusted.
    Trusted,
    /// Nothing is known yet.
    #[default]
    Unknown,
}

impl Readiness {
    /// Not ready yet.
    pub fn new(stores: Stores) -> Self {
        Self {
            stores,
            facts: Arc::default(),
        }
    }

    /// The certificate's state.
    pub fn set_certificate(&self, trust: Trust) {
        self.facts().certificate = trust;
    }

    /// The process is about to end: never ready again.
    pub fn end(&self) {
        self.facts().ending = true;
    }

    /// What stands in the way, a sentence each; ready if there is nothing.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.stores.missing();
        let facts = self.facts();
        if let Some(problem) = facts.certificate.problem() {
            problems.push(problem);
        }
        if facts.ending {
            problems.push("the process is ending".to_owned());
        }
        problems
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trust {
    fn problem(&self) -> Option<String> {
        match self {
            Self::Unknown => Some("the Secret with the certificate is not read yet".to_owned()),
            Self::Missing(why) => Some(format!("no certificate is loaded: {why}")),
            Self::Untrusted(why) => Some(format!("the certificate is not trusted yet: {why}")),
            Self::Trusted => None,
        }
    }
}
