use std::net::IpAddr;

use super::*;
use crate::routes::interfaces::Interface;
use crate::routes::plan::{Redirect, Request, SourceMode, plan};

fn pod(source_mode: SourceMode, loopbacks: &[&str]) -> Plan {
    let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let interface = |name: &str, loopback, addresses: Vec<IpAddr>| Interface {
        name: name.to_owned(),
        up: true,
        loopback,
        addresses,
    };
    let interfaces = [
        interface("lo", true, addresses(loopbacks)),
        interface("eth0", false, addresses(&["10.1.0.2"])),
    ];
    let request = Request {
        redirects: &[Redirect {
            port: 8080,
            listen: 15001,
        }],
        table: None,
        source_mode,
        interfaces: &interfaces,
        devices: &["eth0".to_owned()],
    };
    plan(&request).unwrap()
}

fn routed() -> Plan {
    pod(SourceMode::Routed, &["127.0.0.1", "::1"])
}

fn fresh() -> Existing {
    let kernels = Rule {
        protocol: super::super::rule::KERNEL,
        ..Rule::kernels_own()
    };
    Existing {
        rules: vec![kernels],
        ..Existing::default()
    }
}

/// What a namespace has after the changes, in the order the kernel keeps.
fn after(mut existing: Existing, changes: &[Change]) -> Existing {
    for change in changes {
        match change {
            Change::AddRule(rule) => {
                let same_or_before = |other: &Rule| other.pref <= rule.pref;
                let at = existing
                    .rules
                    .iter()
                    .filter(|rule| same_or_before(rule))
                    .count();
                existing.rules.insert(at, rule.clone());
            }
            Change::DeleteRule(rule) => existing.rules.retain(|other| other != rule),
            Change::AddRoute(route) => existing.routes.push(route.clone()),
            Change::DeleteRoute(route) => existing.routes.retain(|other| other != route),
            Change::PutTable(_) | Change::DeleteTable(_) => {}
        }
    }
    existing
}

#[track_caller]
fn check(changes: &[Change], want: &str) {
    let lines: Vec<_> = changes.iter().map(Change::to_string).collect();
    let want: Vec<_> = want
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines, want);
}

#[test]
fn routed_pod_hides_the_route_before_it_exists() {
    let changes = to_apply(&routed(), &fresh()).unwrap();
    check(
        &changes,
        "ip rule add pref 0 from all lookup local suppress_prefixlength 0 protocol 225
         ip rule del pref 0 from all lookup local protocol 2
         ip rule add pref 1 from 127.0.0.0/8 iif lo lookup local protocol 225
         ip -6 rule add pref 1 from ::1 iif lo lookup 123 protocol 225
         ip route add local 0.0.0.0/0 dev lo table local src 127.0.0.1 protocol 225
         ip -6 route add local ::/0 dev lo table 123 src ::1 protocol 225",
    );
}

#[test]
fn transparent_pod_leaves_rule_0_alone() {
    let plan = pod(SourceMode::Transparent, &["127.0.0.1", "::1"]);
    check(
        &to_apply(&plan, &fresh()).unwrap(),
        "ip rule add pref 1 from 127.0.0.0/8 iif lo lookup 123 protocol 225
         ip -6 rule add pref 1 from ::1 iif lo lookup 123 protocol 225
         ip route add local 0.0.0.0/0 dev lo table 123 src 127.0.0.1 protocol 225
         ip -6 route add local ::/0 dev lo table 123 src ::1 protocol 225",
    );
}

#[test]
fn pod_without_ipv6_is_planned_without_it() {
    let plan = pod(SourceMode::Transparent, &["127.0.0.1"]);
    check(
        &to_apply(&plan, &fresh()).unwrap(),
        "ip rule add pref 1 from 127.0.0.0/8 iif lo lookup 123 protocol 225
         ip route add local 0.0.0.0/0 dev lo table 123 src 127.0.0.1 protocol 225",
    );
}

#[test]
fn undo_takes_the_route_first_and_gives_rule_0_back_before_ours_goes() {
    let plan = routed();
    let existing = after(fresh(), &to_apply(&plan, &fresh()).unwrap());
    check(
        &to_undo(&existing, None),
        "ip -6 route del local ::/0 dev lo table 123 src ::1 protocol 225
         ip route del local 0.0.0.0/0 dev lo table local src 127.0.0.1 protocol 225
         ip -6 rule del pref 1 from ::1 iif lo lookup 123 protocol 225
         ip rule del pref 1 from 127.0.0.0/8 iif lo lookup local protocol 225
         ip rule add pref 0 from all lookup local protocol 2
         ip rule del pref 0 from all lookup local suppress_prefixlength 0 protocol 225",
    );
}

#[test]
fn local_table_is_always_asked_and_never_with_its_route_to_everywhere() {
    let sees_everything = |existing: &Existing| {
        let route = existing
            .routes
            .iter()
            .any(|route| route.table == LOCAL_TABLE);
        let mut for_all = existing.rules.iter().filter(|rule| rule.from.is_none());
        route && for_all.any(|rule| rule.suppress_prefixlength.is_none())
    };
    let sees_local = |existing: &Existing| {
        existing
            .rules
            .iter()
            .any(|rule| rule.lookup == LOCAL_TABLE && rule.from.is_none())
    };
    let plan = routed();
    let there = to_apply(&plan, &fresh()).unwrap();
    let back = to_undo(&after(fresh(), &there), None);
    let steps = [there, back].concat();
    for done in 0..=steps.len() {
        let between = after(fresh(), &steps[..done]);
        assert!(sees_local(&between), "cut off after {done} steps");
        assert!(
            !sees_everything(&between),
            "everything is local after {done} steps"
        );
    }
}

#[test]
fn half_a_plan_is_completed_and_a_whole_one_left_alone() {
    let plan = routed();
    let steps = to_apply(&plan, &fresh()).unwrap();
    for done in 0..=steps.len() {
        let rest = to_apply(&plan, &after(fresh(), &steps[..done])).unwrap();
        assert_eq!(rest, steps[done..]);
    }
}

#[test]
fn another_source_mode_takes_the_first_one_away() {
    let existing = after(fresh(), &to_apply(&routed(), &fresh()).unwrap());
    let transparent = pod(SourceMode::Transparent, &["127.0.0.1", "::1"]);
    check(
        &to_apply(&transparent, &existing).unwrap(),
        "ip route del local 0.0.0.0/0 dev lo table local src 127.0.0.1 protocol 225
         ip rule del pref 1 from 127.0.0.0/8 iif lo lookup local protocol 225
         ip rule add pref 0 from all lookup local protocol 2
         ip rule del pref 0 from all lookup local suppress_prefixlength 0 protocol 225
         ip rule add pref 1 from 127.0.0.0/8 iif lo lookup 123 protocol 225
         ip route add local 0.0.0.0/0 dev lo table 123 src 127.0.0.1 protocol 225",
    );
}

#[test]
fn rules_of_others_that_hide_the_route_too_are_no_obstacle() {
    let mut existing = fresh();
    let other = Rule {
        protocol: 3,
        ..Rule::new(crate::routes::Family::V4, 50, LOCAL_TABLE)
    };
    existing.rules.push(other.clone().without_default());
    assert!(to_apply(&routed(), &existing).is_ok());
    existing.rules.push(other);
    assert!(matches!(
        to_apply(&routed(), &existing),
        Err(Impossible::StrangeRule(_))
    ));
}
