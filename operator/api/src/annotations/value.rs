//! What an annotation takes: text to the JSON of a field, or nothing for what is no value.

use std::fmt;

use serde_json::{Value as Json, json};

use crate::quantity;
use crate::values::{Network, Span};

/// What an annotation takes. Bounds are the schema's; a test compares.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool,
    /// The name of a resource.
    Name,
    /// Ports, some with the app's own.
    Ports,
    /// Networks, and words for peers that change by themselves.
    Peers,
    /// So many networks at most.
    Networks(usize),
    /// One of these.
    Word(&'static [&'static str]),
    /// Some of these.
    Words(&'static [&'static str]),
    /// A duration, from one to another.
    Duration(Option<&'static str>, Option<&'static str>),
    /// A whole number, from one to another.
    Count(u32, u32),
    /// An amount of CPU or memory, such as this one.
    Quantity(&'static str),
    /// An image.
    Image,
}

/// As the schema has it for `ports`.
const MOST_PORTS: usize = 32;

/// As the schema has it for `trustedPeers[].cidrs`.
const MOST_CIDRS: usize = 256;

impl Value {
    /// The JSON of the field; None for what is no value. Upper and lower case of words are the same.
    pub(super) fn read(&self, text: &str) -> Option<Json> {
        let text = text.trim();
        match *self {
            Self::Bool => word(&["true", "false"], text).map(|word| Json::Bool(word == "true")),
            Self::Name => is_name(text).then(|| text.into()),
            Self::Ports => ports(text),
            Self::Peers => peers(text),
            Self::Networks(most) => Some(json!(networks(items(text)?.into_iter(), most)?)),
            Self::Word(words) => word(words, text).map(Json::from),
            Self::Words(words) => {
                let some = items(text)?.into_iter().map(|item| word(words, item));
                Some(json!(distinct(some.collect::<Option<Vec<_>>>()?)?))
            }
            Self::Duration(least, most) => duration(text, least, most),
            Self::Count(least, most) => {
                let count = number(text).filter(|count| (least..=most).contains(count));
                count.map(Json::from)
            }
            Self::Quantity(_) => quantity::amount(text).map(|_| text.into()),
            Self::Image => is_image(text).then(|| text.into()),
        }
    }

    /// What it takes, as the end of the sentence "it takes …".
    pub fn allowed(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => to.write_str("true or false"),
            Self::Name => to.write_str("the name of a ProxyUnwrap of the pod's namespace"),
            Self::Ports => to.write_str(
                "names or numbers of ports with commas, as in http,8443; with the app's own port as in 8443:9443",
            ),
            Self::Peers => to.write_str(
                "networks such as 10.0.0.0/8 and the words nodes and defaults, with commas",
            ),
            Self::Networks(most) => {
                write!(to, "networks such as 10.0.0.0/8 with commas, {most} at most")
            }
            Self::Word(words) => write!(to, "{}", listed(words, "or")),
            Self::Words(words) => write!(to, "some of {}, with commas", listed(words, "and")),
            Self::Duration(None, None) => to.write_str("a duration such as 5s"),
            Self::Duration(Some(least), None) => write!(to, "a duration of {least} or more"),
            Self::Duration(None, Some(most)) => write!(to, "a duration up to {most}"),
            Self::Duration(Some(least), Some(most)) => {
                write!(to, "a duration from {least} to {most}")
            }
            Self::Count(least, most) => write!(to, "a number from {least} to {most}"),
            Self::Quantity(example) => write!(to, "a quantity such as {example}"),
            Self::Image => to.write_str("the name of an image"),
        }
    }
}

fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [head @ .., tail] => format!("{} {last} {tail}", head.join(", ")),
    }
}

/// An item of a list that is empty is a mistake: something was to stand there.
fn items(text: &str) -> Option<Vec<&str>> {
    let items: Vec<_> = text.split(',').map(str::trim).collect();
    items.iter().all(|item| !item.is_empty()).then_some(items)
}

fn distinct<T: PartialEq>(items: Vec<T>) -> Option<Vec<T>> {
    let twice = |(index, item): (usize, &T)| items[..index].contains(item);
    let twice = items.iter().enumerate().any(twice);
    (!twice).then_some(items)
}

fn word<'a>(words: &[&'a str], text: &str) -> Option<&'a str> {
    let mut words = words.iter();
    words.find(|word| word.eq_ignore_ascii_case(text)).copied()
}

/// Digits alone: `+1` and `01` are no numbers of ports.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

fn port_number(text: &str) -> Option<u16> {
    number(text)?.try_into().ok()
}

/// A name of a port, as Kubernetes has it for Services; a container's is shorter.
fn is_port_name(text: &str) -> bool {
    is_label(text) && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let dash = text.starts_with('-') || text.ends_with('-');
    (1..=63).contains(&text.len()) && text.bytes().all(plain) && !dash
}

fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_image(text: &str) -> bool {
    (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn ports(text: &str) -> Option<Json> {
    let ports: Option<Vec<_>> = items(text)?.into_iter().map(one_port).collect();
    let ports = ports.filter(|ports| ports.len() <= MOST_PORTS)?;
    let names = ports.iter().map(|(port, _)| port.clone()).collect();
    distinct(names)?;
    let rows = ports
        .iter()
        .map(|(port, app)| json!({"port": port, "app": app}));
    Some(rows.collect())
}

fn one_port(text: &str) -> Option<(Json, Option<u16>)> {
    let (port, app) = match text.split_once(':') {
        Some((port, app)) => (port, Some(port_number(app)?)),
        None => (text, None),
    };
    let port = match port_number(port) {
        Some(number) => number.into(),
        None => is_port_name(port).then(|| port.into())?,
    };
    Some((port, app))
}

fn networks<'a>(items: impl Iterator<Item = &'a str>, most: usize) -> Option<Vec<Network>> {
    let networks: Vec<_> = items.map(str::parse).collect::<Result<_, _>>().ok()?;
    (networks.len() <= most).then_some(networks)
}

/// One entry with the networks, one for each word.
fn peers(text: &str) -> Option<Json> {
    let known = |item: &str| word(&["nodes", "defaults"], item);
    let items = items(text)?;
    let rest: Vec<_> = items.iter().filter(|item| known(item).is_none()).collect();
    let mut peers = Vec::new();
    if !rest.is_empty() {
        let cidrs = networks(rest.into_iter().copied(), MOST_CIDRS)?;
        peers.push(json!({"cidrs": cidrs}));
    }
    for word in distinct(items.into_iter().filter_map(known).collect())? {
        peers.push(match word {
            "nodes" => json!({"nodes": {}}),
            _ => json!({"defaults": true}),
        });
    }
    Some(peers.into())
}

/// As in the schema: 16 characters, hours to milliseconds, and no more than its CEL rules can hold.
fn duration(text: &str, least: Option<&str>, most: Option<&str>) -> Option<Json> {
    let mut units = text.split(|c: char| c.is_ascii_digit());
    if text.len() > 16 || !units.all(|unit| ["", "ms", "s", "m", "h"].contains(&unit)) {
        return None;
    }
    let span: Span = text.parse().ok()?;
    i64::try_from(span.0.as_nanos()).ok()?;
    let bound = |bound: &str| bound.parse::<Span>().ok();
    let short = least.is_some_and(|least| bound(least) > Some(span));
    let long = most.is_some_and(|most| bound(most) < Some(span));
    (!short && !long).then(|| text.into())
}
