//! Values as a person writes them: durations and networks.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration such as `5s`, `500ms` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Text that is not a duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration such as 5s, 500ms or 1h30m")]
pub struct BadSpan(String);

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan(text.to_owned());
        if text.contains(char::is_whitespace) {
            return Err(bad());
        }
        humantime::parse_duration(text).map(Self).map_err(|_| bad())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration(self.0).to_string();
        formatter.write_str(&text.replace(' ', ""))
    }
}

/// A network such as `10.0.0.0/8`; a bare address means that address alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network(pub IpNet);

/// Text that is not a network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network such as 10.0.0.0/8 or 2001:db8::/32")]
pub struct BadNetwork(String);

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => Ok(IpNet::from(address)),
            Err(_) => text.parse::<IpNet>(),
        };
        let network = network.map_err(|_| BadNetwork(text.to_owned()))?;
        Ok(Self(network.trunc()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 16,
            "pattern": "^([0-9]+(ms|s|m|h))+$",
        })
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 43,
            "x-kubernetes-validations": [{
                "rule": "isCIDR(self) || isIP(self)",
                "message": "not a network such as 10.0.0.0/8 or 2001:db8::/32",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_reads_back_as_it_is_written() {
        for text in ["5s", "500ms", "1h30m", "2m"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_the_schema_refuses_is_no_duration_here_either() {
        for text in ["", "5", "1m 30s", "soon", "-5s"] {
            assert_eq!(text.parse::<Span>(), Err(BadSpan(text.to_owned())));
        }
    }

    #[test]
    fn an_address_is_a_network_of_one_and_bits_of_the_host_do_not_matter() {
        for (text, want) in [
            ("10.0.0.9", "10.0.0.9/32"),
            ("2001:db8::7", "2001:db8::7/128"),
            ("10.1.2.3/8", "10.0.0.0/8"),
        ] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), want);
        }
        assert!("10.0.0.0/33".parse::<Network>().is_err());
    }
}
