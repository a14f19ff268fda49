//! The cluster side: watches `ProxyUnwrap` resources and annotated pods and Services, and puts the
//! dataplane into their pods.
//!
//! A pod's journey, and the modules in its order:
//!
//! 1. [`world`]: what the cluster holds just now, kept current by watches;
//! 2. [`policy`]: which resource, Service or annotation governs a pod, and who may speak for clients;
//! 3. [`inject`]: (pod, policy, settings) to the pod with init container and sidecar, or a refusal;
//! 4. `webhook`: HTTPS around 2 and 3;
//! 5. `controller`: keeps configuration of running pods, status, certificates.
//!
//! 2 and 3 are pure: no client, clock or environment.

pub mod admin;
pub mod args;
pub mod certificate;
pub mod check;
pub mod controller;
pub mod crds;
pub mod events;
pub mod inject;
pub mod leader;
pub mod metrics;
pub mod policy;
pub mod readiness;
pub mod refusal;
pub mod run;
pub mod settings;
pub mod watch;
pub mod webhook;
pub mod world;
