//! The pod side of ProxyUnwrap: takes a balancer's connection, takes the PROXY header off, and
//! dials the app as the client.
//!
//! A connection's journey, in the order of the modules: it is accepted by a worker of the
//! [`engine`]; [`trust`] says whether its peer may speak for clients; [`connection`] reads the
//! header, judges the claim, dials as the client and relays, without doing any I/O itself;
//! [`counters`] and the [`access_log`] record how it ended. Beside the journey stand the
//! configuration ([`args`], [`config`], [`limits`]), the process ([`serve`], [`drain`], [`privileges`],
//! [`health`], [`metrics`], [`admin`]), kubelet's [`probes`] and the preparation of the namespace
//! ([`routes`]).
//!
//! It never talks to the Kubernetes API, and needs no capability to serve.

pub mod access_log;
pub mod address;
pub mod admin;
pub mod args;
pub mod config;
pub mod connection;
pub mod counters;
pub mod drain;
pub mod engine;
pub mod health;
pub mod limits;
pub mod metrics;
pub mod privileges;
pub mod probes;
pub mod routes;
pub mod serve;
pub mod sys;
pub mod trust;
