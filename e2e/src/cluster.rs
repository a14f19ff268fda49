//! Kubernetes, as the tests use it.
//!
//! A test is one closure given to [`in_namespace`]: it applies manifests, waits for what must come,
//! and looks. When it fails, [`report`] tells what a person needs to know, and the namespace goes.

mod balancer;
mod client;
mod command;
pub mod containers;
pub mod event;
mod held;
mod journey;
mod load;
mod manifest;
mod namespace;
mod node;
mod operator;
mod pod;
pub mod report;
mod unwrap;
mod wait;

pub use self::balancer::{Balancer, Balancers};
pub use self::client::{Answer, Client};
pub use self::command::{cluster, run};
pub use self::held::{Held, Kept};
pub use self::journey::{FAMILIES, Journey};
pub use self::load::{Load, Request};
pub use self::manifest::Manifest;
pub use self::namespace::{Created, Namespace, in_labelled_namespace, in_namespace, in_namespaces};
pub use self::node::Node;
pub use self::operator::{Bundle, Operator, new_pod};
pub use self::pod::Pod;
pub use self::unwrap::Unwrap;
pub use self::wait::{Hopeless, timed, until};
