//! What a run found, as it is kept in raw form: table and chart are made from it and from nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) run: RunFacts,
    pub(crate) contenders: Vec<Listed>,
    pub(crate) samples: Vec<Sample>,
    /// System calls of a short connection, by contender.
    pub(crate) calls: BTreeMap<String, Calls>,
}

/// Where it ran.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    /// Of every connection of the run.
    pub(crate) congestion: String,
    pub(crate) date: String,
}

/// How it ran.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RunFacts {
    /// The command line.
    pub(crate) command: String,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) threads: usize,
    /// The open loop's messages a second.
    pub(crate) rate: Option<f64>,
    /// How many idle connections were few, and how many were many; without the latter where the limit
    /// of descriptors is too low.
    pub(crate) idle: Vec<u64>,
    /// Commit of the checkout that the run started in.
    pub(crate) commit: String,
}

/// A contender, measured or not.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) version: String,
    /// How its program is had.
    pub(crate) source: String,
    pub(crate) note: String,
    pub(crate) files: Vec<(String, String)>,
    pub(crate) prepare: Vec<String>,
    pub(crate) command: String,
    pub(crate) state: State,
}

/// What a contender is compared as.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Role {
    /// No proxy: what the others are a share of.
    #[default]
    Direct,
    /// One of our builds.
    Ours,
    /// Somebody else's.
    Peer,
}

/// Whether it could be measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum State {
    /// It was.
    #[default]
    Measured,
    /// It does its work, but gives the app another port than the client's.
    MeasuredWithAnotherPort,
    /// Its program could not be had.
    Missing(String),
    /// It does not start, or the app does not see the client.
    Broken(String),
}

/// One measurement of one contender.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Sample {
    pub(crate) workload: String,
    pub(crate) contender: String,
    pub(crate) round: usize,
    pub(crate) figures: BTreeMap<String, f64>,
    /// What went wrong, and how often.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Whether others left the processors alone, just before and meanwhile.
    pub(crate) quiet: bool,
}

/// System calls of one short connection.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Calls {
    pub(crate) connections: u64,
    pub(crate) each: f64,
    /// By name, the most frequent first.
    pub(crate) names: Vec<(String, f64)>,
}
