//! The pod side of ProxyUnwrap.

pub mod routes;
pub mod sys;
