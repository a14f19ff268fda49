//! The resource `ProxyUnwrap` and every name that ProxyUnwrap shares with the outside.
//!
//! - [`ProxyUnwrapSpec`] is what a person writes, [`ProxyUnwrapStatus`] what the operator answers;
//! - [`names`] are labels, annotations, containers and ports;
//! - [`annotations`] is the table of what may be written on a pod or a Service instead.
//!
//! No behaviour: nothing here reads a cluster, a clock or the environment. The YAML of the custom
//! resource is generated from these types ([`crd()`]).

pub mod annotations;
mod crd;
pub mod names;
pub mod peers;
pub mod ports;
pub mod quantity;
pub mod spec;
pub mod status;
pub mod target;
pub mod values;

pub use self::crd::crd;
pub use self::spec::{ProxyUnwrap, ProxyUnwrapSpec};
pub use self::status::ProxyUnwrapStatus;
