//! The closed sets behind the labels.

/// Writes an enum, all of it, and the word for each.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$what])* $variant,)*
        }

        impl $name {
            /// All.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The words for all.
            pub fn names() -> Vec<&'static str> {
                Self::ALL.iter().map(|one| one.name()).collect()
            }

            /// As it is written in metrics.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

label! {
    /// A step of the controller's look at a namespace.
    Step {
        /// World to what is to be done; pure, so it has a duration and never fails.
        Plan = "plan",
        /// Configuration of running pods.
        Configure = "configure",
        /// Labels of namespaces.
        Label = "label",
        /// Restarts of workloads.
        Restart = "restart",
        /// Status of resources.
        Status = "status",
    }
}

label! {
    /// What became of a change of a pod's configuration.
    PodPatch {
        /// It is done.
        Changed = "changed",
        /// The pod is gone, or another one has its name.
        Gone = "gone",
        /// The API server refused or was not reached; it is tried again.
        Failed = "failed",
    }
}

label! {
    /// What became of a workload's restart.
    Restart {
        /// It was asked for.
        Started = "started",
        /// It is available again.
        Completed = "completed",
        /// The API server refused or was not reached.
        Failed = "failed",
    }
}

label! {
    /// Why a connection or request of the webhook got no review.
    Unanswered {
        /// TLS did not come about: a scanner, or an API server that does not trust our CA.
        Handshake = "handshake",
        /// The peer was too slow.
        TimedOut = "timed_out",
        /// The body is longer than any pod's.
        TooLarge = "too_large",
        /// The body is no AdmissionReview of a pod.
        Unreadable = "unreadable",
        /// Another path or method.
        NotFound = "not_found",
    }
}

label! {
    /// What of the webhook's certificate was made.
    Certificate {
        /// A new CA, trusted beside the old one.
        Ca = "ca",
        /// A new certificate of the server.
        Leaf = "leaf",
        /// Both at once, as nothing of use was there.
        Both = "both",
    }
}

label! {
    /// What is watched.
    Watched {
        /// Namespaces.
        Namespaces = "namespaces",
        /// ProxyUnwraps.
        ProxyUnwraps = "proxyunwraps",
        /// Services.
        Services = "services",
        /// Pods.
        Pods = "pods",
        /// Nodes.
        Nodes = "nodes",
        /// Metadata of Deployments.
        Deployments = "deployments",
        /// Metadata of StatefulSets.
        StatefulSets = "statefulsets",
        /// Metadata of DaemonSets.
        DaemonSets = "daemonsets",
        /// The Secret with the webhook's certificate.
        Secret = "secret",
        /// The configuration of the webhook.
        Configuration = "mutatingwebhookconfiguration",
    }
}

label! {
    /// What became of an Event.
    Telling {
        /// The API server has it.
        Sent = "sent",
        /// The same was told a short while ago.
        Repeated = "repeated",
        /// There were too many.
        Dropped = "dropped",
        /// The API server refused or was not reached.
        Failed = "failed",
    }
}
