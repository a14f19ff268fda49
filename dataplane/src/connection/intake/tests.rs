use proxyunwrap_header::Invalid;

use super::*;
use crate::connection::claim::Refusal;

const V1: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\nping";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\0\0ping";
const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\nping";

fn policy() -> HeaderPolicy {
    HeaderPolicy {
        rules: Rules::default(),
        timeout: Duration::from_secs(5),
        without_client: WithoutClient::AsPeer,
        claims: Claims::default(),
    }
}

fn decide_with(policy: &HeaderPolicy, rule: Rule, bytes: &[u8]) -> Decision {
    let peer = Peer::new("10.0.0.9:40000".parse().unwrap());
    decide(rule, peer, bytes, policy, &Own::default())
}

/// `client skip version`, `need n`, or the reason of a refusal.
#[track_caller]
fn check(rule: Rule, bytes: &[u8], want: &str) {
    assert_eq!(text(decide_with(&policy(), rule, bytes)), want);
}

fn text(decision: Decision) -> String {
    match decision {
        Decision::NeedMore(n) => format!("need {n}"),
        Decision::Dial {
            client,
            skip,
            version,
        } => {
            format!("{client} {skip} {}", version.map_or("none", Version::label))
        }
        Decision::Refuse(outcome, _) => outcome
            .reason()
            .unwrap_or_else(|| outcome.label())
            .to_owned(),
    }
}

#[test]
fn a_required_header_names_the_client() {
    check(Rule::Require, V1, "203.0.113.7:51000 45 v1");
    check(Rule::Optional, V1, "203.0.113.7:51000 45 v1");
}

#[test]
fn a_header_that_names_nobody_means_the_peer() {
    check(Rule::Require, LOCAL, "10.0.0.9:40000 16 v2");
    check(Rule::Require, UNKNOWN, "10.0.0.9:40000 15 v1");
}

#[test]
fn headers_that_name_nobody_can_be_refused_but_local_cannot() {
    let strict = HeaderPolicy {
        without_client: WithoutClient::Refuse,
        ..policy()
    };
    assert_eq!(
        text(decide_with(&strict, Rule::Require, UNKNOWN)),
        "without_client"
    );
    assert_eq!(
        text(decide_with(&strict, Rule::Require, LOCAL)),
        "10.0.0.9:40000 16 v2"
    );
}

#[test]
fn bytes_without_a_header_are_refused_or_the_peers() {
    check(
        Rule::Require,
        b"GET / HTTP/1.1\r\n",
        Invalid::NotAHeader.reason(),
    );
    check(
        Rule::Optional,
        b"GET / HTTP/1.1\r\n",
        "10.0.0.9:40000 0 none",
    );
    check(Rule::Forbid, b"GET / HTTP/1.1\r\n", "10.0.0.9:40000 0 none");
}

#[test]
fn a_forbidden_header_is_refused_as_soon_as_it_is_one() {
    check(Rule::Forbid, V1, "forbidden");
    check(Rule::Forbid, b"PRO", "need 1");
    check(Rule::Forbid, b"PROPER", "10.0.0.9:40000 0 none");
    check(Rule::Forbid, LOCAL, "forbidden");
}

#[test]
fn passed_bytes_are_not_looked_at() {
    check(Rule::Pass, V1, "10.0.0.9:40000 0 none");
}

#[test]
fn an_incomplete_optional_header_is_waited_for() {
    check(Rule::Optional, b"PROXY TC", "need 7");
    check(Rule::Optional, b"", "need 15");
}

#[test]
fn a_dangerous_claim_is_refused_under_every_rule_that_reads_it() {
    let claim = b"PROXY TCP4 127.0.0.1 192.0.2.10 51000 443\r\n";
    check(Rule::Require, claim, Refusal::Loopback.reason());
    check(Rule::Optional, claim, Refusal::Loopback.reason());
}

#[test]
fn closing_without_a_byte_is_a_probe_and_within_the_header_is_not() {
    assert_eq!(ended(0), Outcome::EmptyProbe);
    assert_eq!(ended(3), Outcome::BadHeader(HeaderError::Truncated));
}
