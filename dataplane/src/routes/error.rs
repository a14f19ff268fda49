//! Why a namespace was not prepared, in sentences that name the fix.

use super::rule::Family;
use super::socket::Refused;
use super::verify::{SpoofError, client};

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The namespace or the request makes it impossible; trying again will not help.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// What exists could not be read.
    #[error("could not read the {what}")]
    Read {
        /// Of what.
        what: &'static str,
        /// The kernel's answer.
        source: Refused,
    },
    /// A step was refused.
    #[error("could not {step}")]
    Change {
        /// The step.
        step: String,
        /// The kernel's answer.
        source: Refused,
    },
    /// It does not work, and this is why.
    #[error("could not connect from {} to loopback: {gaps}", client(*.family))]
    Missing {
        /// In which family.
        family: Family,
        /// What is missing.
        gaps: String,
    },
    /// All of the plan exists, and yet it does not work.
    #[error("could not connect from {} to loopback, though nothing is missing", client(*.family))]
    Verify {
        /// In which family.
        family: Family,
        /// What the connection met.
        source: SpoofError,
    },
    /// The check found gaps that no connection notices.
    #[error("{0}")]
    Gaps(String),
}

/// Why a request cannot be met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// Neither 127.0.0.1 nor ::1 exists.
    #[error("lo is down or has neither 127.0.0.1 nor ::1: there is no loopback to dial an app on")]
    NoLoopback,
    /// Two redirects share a port.
    #[error("redirect {port}:{listen} uses a port that another redirect uses already")]
    PortTwice {
        /// What peers dial.
        port: u16,
        /// The sidecar's own.
        listen: u16,
    },
    /// One redirect's port is the other's target, or its own.
    #[error("port {0} cannot be both dialled by peers and the sidecar's own; take another number")]
    PortIsListen(u16),
    /// `--steer same-port` with redirects.
    #[error("--steer same-port redirects nothing; leave out --redirect or choose another --steer")]
    SamePortRedirect,
    /// Nothing to steer on.
    #[error(
        "no interface to steer: none but lo is up and has an address; name one with --interface"
    )]
    NothingToSteer,
    /// `--interface` names none.
    #[error("there is no interface \"{0}\" in this namespace")]
    NoInterface(String),
    /// `--interface lo`.
    #[error("interface \"{0}\" is loopback, which is never steered")]
    Loopback(String),
    /// Rule 0 is someone else's.
    #[error(
        "rule \"{0}\" of another program asks the local table or comes first; use --source-mode transparent"
    )]
    StrangeRule(String),
    /// The kernel lacks what `--steer` needs.
    #[error("this kernel's nf_tables cannot do it ({refused}); use --steer {instead}")]
    NoNfTables {
        /// The kernel's answer.
        refused: Refused,
        /// What needs less.
        instead: &'static str,
    },
}

impl Error {
    /// 1 failed, 2 asked for something impossible.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Impossible(_) => 2,
            Self::Read { .. }
            | Self::Change { .. }
            | Self::Missing { .. }
            | Self::Verify { .. }
            | Self::Gaps(_) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    fn chain(error: Error) -> String {
        format!("{:#}", anyhow::Error::from(error))
    }

    #[test]
    fn a_refused_step_names_the_object_and_the_capability() {
        let step = "add rule \"from 127.0.0.0/8 iif lo lookup local\"".to_owned();
        let error = Error::Change {
            step,
            source: Errno::EPERM.into(),
        };
        assert_eq!(error.exit_code(), 1);
        assert_eq!(
            chain(error),
            "could not add rule \"from 127.0.0.0/8 iif lo lookup local\": \
             operation not permitted; init needs NET_ADMIN"
        );
    }

    #[test]
    fn a_kernel_without_nf_tables_is_told_what_needs_less() {
        let refused = Errno::EOPNOTSUPP.into();
        let error = Error::from(Impossible::NoNfTables {
            refused,
            instead: "same-port",
        });
        assert_eq!(error.exit_code(), 2);
        assert_eq!(
            chain(error),
            "this kernel's nf_tables cannot do it (operation not supported on transport endpoint); \
             use --steer same-port"
        );
    }
}
