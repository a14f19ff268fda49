//! What ProxyUnwrap promises its users, tried on a real Kubernetes.
//!
//! Each file in `tests/promises/` is one promise; it says in a few lines what is set up, what is done and
//! what must be seen. This library holds what they share:
//!
//! - [`image`] makes container images out of programs of this machine, without a container engine;
//! - `cluster` (feature `cluster`, for `make e2e`) talks to Kubernetes: a temporary namespace for each test,
//!   manifests, waits that give a reason, a report when a test fails.
//!
//! Nothing here knows which cluster it runs on, the embedded one or kind: both are reached by
//! KUBECONFIG alone, nodes only by a pod that may look at them.

#[cfg(feature = "cluster")]
pub mod cluster;
pub mod image;
