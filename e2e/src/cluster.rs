//! Kubernetes, as the tests use it.
//!
//! A test is one closure given to [`in_namespace`]: it applies manifests, waits for what must come,
//! and looks. When it fails, [`report`] tells what a person needs to know, and the namespace goes.

mod balancer;
mod client;
pub mod containers;
mod load;
mod manifest;
mod namespace;
mod node;
mod pod;
pub mod report;
mod wait;

pub use self::balancer::Balancer;
pub use self::client::{Answer, Client};
pub use self::load::{Load, Request};
pub use self::manifest::Manifest;
pub use self::namespace::{Namespace, in_namespace};
pub use self::node::Node;
pub use self::pod::Pod;
pub use self::wait::{Hopeless, until};
