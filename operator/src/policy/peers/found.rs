//! Networks as they are found, and the lists that they make.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use proxyunwrap_api::names::NOBODY;
use proxyunwrap_api::peers::HeaderPolicy;

use super::super::{Networks, Problem, ProblemKind};
use super::Resolved;

/// Networks of one list, after those are joined that can be. More would make the configuration too
/// long for an annotation.
const MOST: usize = 1_000;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    networks: BTreeMap<IpNet, Rule>,
    problems: Vec<Problem>,
    followed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    header: HeaderPolicy,
    written: bool,
}

impl Found {
    /// A network that a person wrote.
    pub(super) fn write(&mut self, network: IpNet, header: HeaderPolicy) {
        let rule = Rule {
            header,
            written: true,
        };
        if let Some(earlier) = self.insert(network, rule) {
            self.problems.push(Problem {
                kind: ProblemKind::Invalid,
                message: format!(
                    "{network} is there with header {:?} and with header {header:?}; keep one",
                    earlier.header
                ),
            });
        }
    }

    /// There is a reference, whomever it leads to at present.
    pub(super) fn follow(&mut self) {
        self.followed = true;
    }

    /// An address that a reference leads to.
    pub(super) fn refer(&mut self, network: IpNet, header: HeaderPolicy) {
        let written = false;
        self.insert(network, Rule { header, written });
    }

    /// A reference leads to nobody.
    pub(super) fn nobody(&mut self, message: String) {
        self.problems.push(Problem {
            kind: ProblemKind::NoTrustedPeers,
            message,
        });
    }

    /// A selector cannot be used.
    pub(super) fn mistaken(&mut self, mistake: Option<String>) {
        let kind = ProblemKind::Invalid;
        self.problems
            .extend(mistake.map(|message| Problem { kind, message }));
    }

    /// The lists.
    pub(super) fn finish(mut self) -> Resolved {
        let list = |header| self.list(header);
        let mut networks = Networks {
            require: list(HeaderPolicy::Require).into_iter().collect(),
            optional: list(HeaderPolicy::Optional).into_iter().collect(),
            forbid: list(HeaderPolicy::Forbid).into_iter().collect(),
            pass: list(HeaderPolicy::Pass).into_iter().collect(),
            followed: self.followed,
        };
        let lists = [
            &networks.require,
            &networks.optional,
            &networks.forbid,
            &networks.pass,
        ];
        let too_many = lists.iter().map(|list| list.len()).find(|len| *len > MOST);
        if let Some(len) = too_many {
            self.problems.push(Problem {
                kind: ProblemKind::Invalid,
                message: format!(
                    "{len} networks of one kind of header are more than {MOST}; give wider ones"
                ),
            });
        }
        if networks.require.is_empty() && networks.optional.is_empty() {
            if self.problems.is_empty() {
                self.nobody("nobody who may send a header is named".to_owned());
            }
            let nobody = NOBODY.parse().expect("a constant, and a network");
            networks.require.insert(nobody);
        }
        Resolved {
            networks,
            problems: self.problems,
        }
    }

    /// Keeps what was there before; answers with it if the two contradict each other as written.
    fn insert(&mut self, network: IpNet, rule: Rule) -> Option<Rule> {
        let earlier = *self.networks.entry(plain(network)).or_insert(rule);
        let contradiction = earlier.header != rule.header && earlier.written && rule.written;
        contradiction.then_some(earlier)
    }

    /// The networks of one kind of header, joined where that changes nothing: the longest prefix of
    /// all lists decides, so one that overlaps with another list has to stay as it is.
    fn list(&self, header: HeaderPolicy) -> Vec<IpNet> {
        let (same, others): (Vec<_>, Vec<_>) = self
            .networks
            .iter()
            .partition(|(_, rule)| rule.header == header);
        let others = IpNet::aggregate(&others.into_iter().map(|(network, _)| *network).collect());
        let same = same.into_iter().map(|(network, _)| *network);
        let (fixed, free): (Vec<_>, Vec<_>) = same.partition(|one| overlaps(*one, &others));
        let mut list = IpNet::aggregate(&free);
        list.extend(fixed);
        list
    }
}

/// Whether a network shares an address with one of these, which are sorted and disjoint.
fn overlaps(network: IpNet, others: &[IpNet]) -> bool {
    let last = |one: &IpNet| -> IpAddr { one.broadcast() };
    let next = others.partition_point(|other| last(other) < network.network());
    let next = others.get(next);
    next.is_some_and(|other| other.network() <= last(&network))
}

/// Without bits of the host, and IPv4 within IPv6 as IPv4: peers are compared in that form.
fn plain(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else {
        return network.trunc();
    };
    match (v6.addr().to_ipv4_mapped(), v6.prefix_len().checked_sub(96)) {
        (Some(v4), Some(len)) => IpNet::new(v4.into(), len).map_or(network, |v4| v4.trunc()),
        (Some(_) | None, _) => network.trunc(),
    }
}
