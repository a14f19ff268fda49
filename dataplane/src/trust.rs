//! Which peers may speak for clients, and how their connections must begin.
//!
//! The peer's address decides before a byte is read. An address in no list is refused: the PROXY
//! protocol specification, section 2, calls it safe only to accept headers from known sources.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// How a connection from a listed peer must begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// With a header; without one it is closed.
    Require,
    /// With or without a header, and with a byte of either before the header time-out.
    Optional,
    /// Without a header; one that begins like a header is closed. The peer is the client.
    Forbid,
    /// Its bytes are not looked at. The peer is the client.
    Pass,
}

impl Rule {
    /// Every rule, in the order of the configuration.
    pub const ALL: [Self; 4] = [Self::Require, Self::Optional, Self::Forbid, Self::Pass];

    /// The word the configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Optional => "optional",
            Self::Forbid => "forbid",
            Self::Pass => "pass",
        }
    }
}

/// Networks and the rule for each; the longest prefix that holds the peer decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Longest prefix first.
    networks: Vec<(IpNet, Rule)>,
    /// The same by length of prefix: lists of a thousand pods are looked through for each connection.
    by_length: Vec<Length>,
}

/// Networks of one family and length of prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Length {
    family: Family,
    /// Bits of the prefix.
    mask: u128,
    /// Sorted by address.
    networks: Vec<(u128, Rule)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

/// Why a list of networks cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No network at all: nobody could connect, and allowing everybody would fail open.
    #[error(
        "no peer is listed, so nobody could connect; list the balancers' networks, as in `require: [10.0.0.0/8]`"
    )]
    Empty,
    /// One network, two rules.
    #[error("{network} is listed under both `{one}` and `{other}`; keep one")]
    Twice {
        /// The network in question.
        network: IpNet,
        /// The rule it had first.
        one: &'static str,
        /// The rule it was given again.
        other: &'static str,
    },
}

impl Trust {
    /// Sorts the networks; refuses an empty list and a network with two rules.
    pub fn new(networks: impl IntoIterator<Item = (IpNet, Rule)>) -> Result<Self, Error> {
        let mut networks: Vec<_> = networks
            .into_iter()
            .map(|(net, rule)| (plain(net), rule))
            .collect();
        networks.sort_by_key(|(net, rule)| (u8::MAX - net.prefix_len(), *net, rule.name()));
        networks.dedup();
        if networks.is_empty() {
            return Err(Error::Empty);
        }
        match networks.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Error::Twice {
                network: pair[0].0,
                one: pair[0].1.name(),
                other: pair[1].1.name(),
            }),
            None => Ok(Self {
                by_length: by_length(&networks),
                networks,
            }),
        }
    }

    /// The rule for a peer; None when nobody vouches for it. `ip` must not be IPv4-mapped.
    pub fn rule(&self, ip: IpAddr) -> Option<Rule> {
        let (family, bits) = bits(ip);
        let mut lengths = self.by_length.iter().filter(|one| one.family == family);
        lengths.find_map(|length| {
            let prefix = bits & length.mask;
            let found = length.networks.binary_search_by_key(&prefix, |(at, _)| *at);
            found.ok().map(|index| length.networks[index].1)
        })
    }

    /// The networks of one rule, for the effective configuration.
    pub fn networks(&self, rule: Rule) -> impl Iterator<Item = IpNet> + '_ {
        self.networks
            .iter()
            .filter(move |(_, r)| *r == rule)
            .map(|(net, _)| *net)
    }
}

/// Networks in order of falling length of prefix, and sorted within a length.
fn by_length(networks: &[(IpNet, Rule)]) -> Vec<Length> {
    let mut lengths: Vec<Length> = Vec::new();
    for (network, rule) in networks {
        let (family, at) = bits(network.network());
        let (_, mask) = bits(network.netmask());
        let row = (at, *rule);
        let same = |one: &&mut Length| (one.family, one.mask) == (family, mask);
        match lengths.iter_mut().find(same) {
            Some(length) => length.networks.push(row),
            None => lengths.push(Length {
                family,
                mask,
                networks: vec![row],
            }),
        }
    }
    for length in &mut lengths {
        length.networks.sort_by_key(|(at, _)| *at);
    }
    lengths
}

fn bits(ip: IpAddr) -> (Family, u128) {
    match ip {
        IpAddr::V4(v4) => (Family::V4, u128::from(v4.to_bits())),
        IpAddr::V6(v6) => (Family::V6, v6.to_bits()),
    }
}

/// Without host bits, and IPv4-mapped networks as IPv4: peers are compared in that form.
fn plain(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else {
        return network.trunc();
    };
    match v6.addr().to_ipv4_mapped() {
        Some(v4) if v6.prefix_len() >= 96 => {
            IpNet::new_assert(v4.into(), v6.prefix_len() - 96).trunc()
        }
        _ => network.trunc(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(rows: &[(&str, Rule)]) -> Result<Trust, Error> {
        Trust::new(rows.iter().map(|(net, rule)| (net.parse().unwrap(), *rule)))
    }

    #[track_caller]
    fn check(rows: &[(&str, Rule)], peer: &str, want: Option<Rule>) {
        assert_eq!(trust(rows).unwrap().rule(peer.parse().unwrap()), want);
    }

    #[test]
    fn an_empty_list_is_refused() {
        assert_eq!(trust(&[]), Err(Error::Empty));
    }

    #[test]
    fn an_unlisted_peer_has_no_rule() {
        check(&[("10.0.0.0/8", Rule::Require)], "192.0.2.1", None);
        check(&[("10.0.0.0/8", Rule::Require)], "2001:db8::1", None);
        check(&[("0.0.0.0/0", Rule::Require)], "2001:db8::1", None);
    }

    #[test]
    fn the_longest_prefix_decides() {
        let rows = [("10.0.0.0/8", Rule::Require), ("10.1.0.0/16", Rule::Pass)];
        check(&rows, "10.1.2.3", Some(Rule::Pass));
        check(&rows, "10.2.2.3", Some(Rule::Require));
    }

    /// The operator writes it where a reference to balancers finds nobody.
    #[test]
    fn the_address_of_nobody_lets_nobody_in() {
        let rows = [("0.0.0.0/32", Rule::Require)];
        for peer in [
            "10.0.0.1",
            "127.0.0.1",
            "255.255.255.255",
            "::1",
            "2001:db8::1",
        ] {
            check(&rows, peer, None);
        }
    }

    #[test]
    fn one_network_with_two_rules_is_refused() {
        let rows = [("10.1.2.3/8", Rule::Require), ("10.0.0.0/8", Rule::Pass)];
        assert!(matches!(trust(&rows), Err(Error::Twice { .. })));
        assert!(trust(&[("10.0.0.0/8", Rule::Pass), ("10.0.0.0/8", Rule::Pass)]).is_ok());
    }

    #[test]
    fn a_mapped_network_means_its_ipv4_network() {
        check(
            &[("::ffff:10.0.0.0/104", Rule::Require)],
            "10.9.9.9",
            Some(Rule::Require),
        );
    }
}
