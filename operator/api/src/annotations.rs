//! What may be written on a pod template or a Service instead of a resource.
//!
//! One [table](SECTIONS) knows every key: where it may stand, what it takes, what it means, and
//! which field of [`ProxyUnwrapSpec`] it sets. The parser, what is said about a mistake, and
//! `docs/annotations.md` come from it. A key of our group that is not in the table is an error, never
//! overlooked: a misspelt list of peers must not leave a wider one in force.

mod docs;
mod table;
mod value;

use std::collections::BTreeMap;
use std::ops::Bound;

use serde::Deserialize;
use serde_json::Value as Json;

pub use self::docs::page;
pub use self::table::SECTIONS;
pub use self::value::Value;
use crate::names::{GROUP, answers};
use crate::spec::ProxyUnwrapSpec;

/// One key.
#[derive(Debug)]
pub struct Annotation {
    /// Its name, without the group.
    pub key: &'static str,
    /// Where it may stand.
    pub on: On,
    /// The field of a resource's spec that it sets; empty for one that chooses.
    pub field: &'static str,
    /// What it takes.
    pub value: Value,
    /// What it does, for the documentation.
    pub meaning: &'static str,
    set: Set,
}

/// Where a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On a pod.
    Pod,
    /// On a pod or a Service.
    PodOrService,
}

/// What carries the annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A pod.
    Pod,
    /// A Service.
    Service,
}

#[derive(Debug)]
enum Set {
    /// It says whether, by whom or at which ports a pod is unwrapped.
    Choice(fn(&mut Wishes, Json) -> serde_json::Result<()>),
    /// It sets a field.
    Field(fn(&mut ProxyUnwrapSpec, Json) -> serde_json::Result<()>),
}

/// What a pod or a Service says about itself.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Whether it is to be unwrapped.
    pub inject: Option<bool>,
    /// The resource that governs it.
    pub unwrap: Option<String>,
    /// Its ports: a pod's, or those of a Service.
    pub ports: Option<Vec<WishedPort>>,
    fields: Vec<(&'static Annotation, Json)>,
}

/// A port as an annotation names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WishedPort {
    /// Which.
    pub port: PortRef,
    /// The port of loopback where the app listens, if that is another one.
    pub app: Option<u16>,
}

/// A name or a number of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PortRef {
    /// A number.
    Number(u16),
    /// A name.
    Name(String),
}

/// A mistake in an annotation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such key.
    #[error("annotation {GROUP}/{key} is not known; {}", hint(*nearest))]
    Unknown {
        /// As it is written, without the group.
        key: String,
        /// The known key that it resembles.
        nearest: Option<&'static str>,
    },
    /// The key means nothing where it stands.
    #[error("annotation {GROUP}/{key} is for pods; on a Service it means nothing")]
    Misplaced {
        /// The key.
        key: &'static str,
    },
    /// Not a value.
    #[error("annotation {GROUP}/{key} is {value:?}; it takes {allowed}")]
    Malformed {
        /// The key.
        key: &'static str,
        /// As it is written, shortened.
        value: String,
        /// What would be right.
        allowed: String,
    },
}

/// Reads the annotations of our group; others, and our own answers, are passed over.
///
/// # Errors
/// The first mistake.
pub fn parse(annotations: &BTreeMap<String, String>, place: Place) -> Result<Wishes, Error> {
    let mut found = Vec::new();
    for (key, text) in ours(annotations) {
        let (order, row) = find(key)?;
        if place == Place::Service && row.on == On::Pod {
            return Err(Error::Misplaced { key: row.key });
        }
        let json = row.value.read(text).ok_or_else(|| malformed(row, text))?;
        found.push((order, row, text, json));
    }
    // In the table's order: `header-policy` is about what `trusted-peers` set.
    found.sort_by_key(|(order, ..)| *order);
    let mut wishes = Wishes::default();
    for (_, row, text, json) in found {
        wishes.take(row, json).map_err(|_| malformed(row, text))?;
    }
    Ok(wishes)
}

/// Keys of our group that are wishes, without the group, and what is said under them.
pub fn ours(annotations: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    let from = (Bound::Included(GROUP), Bound::Unbounded);
    let group = annotations.range::<str, _>(from);
    let group = group.take_while(|(key, _)| key.starts_with(GROUP));
    let wishes = group.filter(|(key, _)| !ANSWERS.contains(&key.as_str()));
    wishes.filter_map(|(key, text)| Some((key.strip_prefix(GROUP)?.strip_prefix('/')?, &**text)))
}

impl Wishes {
    /// Whether fields of the resource are set.
    pub fn sets_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Lays what is said over a spec. Ports are the caller's: they mean different things on a pod and
    /// on a Service.
    pub fn lay_over(&self, spec: &mut ProxyUnwrapSpec) {
        for (row, json) in &self.fields {
            if let Set::Field(set) = row.set {
                set(spec, json.clone()).expect("`take` has set the same value");
            }
        }
    }

    fn take(&mut self, row: &'static Annotation, json: Json) -> serde_json::Result<()> {
        match row.set {
            Set::Choice(set) => set(self, json),
            Set::Field(set) => {
                set(&mut ProxyUnwrapSpec::default(), json.clone())?;
                self.fields.push((row, json));
                Ok(())
            }
        }
    }
}

const ANSWERS: [&str; 4] = [
    answers::STATUS,
    answers::CONFIG,
    answers::REFUSED,
    answers::RESTARTED_AT,
];

/// How like a known key another must be to be taken for it, from 0 to 1.
const LIKE: f64 = 0.75;

/// What is shown of a value: it ends up in Events.
const SHOWN: usize = 80;

/// Every key, in the table's order.
pub fn all() -> impl Iterator<Item = &'static Annotation> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

fn find(key: &str) -> Result<(usize, &'static Annotation), Error> {
    let known = all().enumerate().find(|(_, row)| row.key == key);
    known.ok_or_else(|| Error::Unknown {
        key: shown(key),
        nearest: nearest(key),
    })
}

fn nearest(key: &str) -> Option<&'static str> {
    let like = |row: &Annotation| strsim::jaro_winkler(row.key, &key.to_ascii_lowercase());
    let rows = all().map(|row| (like(row), row.key));
    let best = rows.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= LIKE).then_some(best.1)
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(key) => format!("did you mean {GROUP}/{key}?"),
        None => "docs/annotations.md lists the known keys".to_owned(),
    }
}

fn malformed(row: &'static Annotation, text: &str) -> Error {
    Error::Malformed {
        key: row.key,
        value: shown(text),
        allowed: row.value.allowed(),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
