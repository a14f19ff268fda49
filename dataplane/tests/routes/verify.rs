//! `init` proves that a foreign source works, and names the piece that is missing.

use crate::pod::{Pod, WAYS};

#[track_caller]
fn check_names(way: &str, removal: &str, sentence: &str) {
    let pod = Pod::new();
    pod.init(way);
    let whole = pod.listings();
    pod.inside.sh(removal);
    let broken = pod.listings();
    let error = pod.init_fails(&format!("{way} --check"), 1);
    assert_eq!(error, sentence, "after {removal}");
    assert_eq!(pod.listings(), broken, "check changes nothing");
    pod.init(way);
    assert_eq!(pod.listings(), whole, "init mends it");
}

#[test]
fn each_missing_rule_is_named() {
    check_names(
        WAYS[0],
        "ip rule del pref 0",
        "could not connect from 192.0.2.1 to loopback: \
         rule \"from all lookup local suppress_prefixlength 0\" is missing",
    );
    check_names(
        WAYS[0],
        "ip rule del pref 1",
        "could not connect from 192.0.2.1 to loopback: \
         rule \"from 127.0.0.0/8 iif lo lookup local\" is missing",
    );
    check_names(
        WAYS[2],
        "ip rule del pref 1",
        "could not connect from 192.0.2.1 to loopback: \
         rule \"from 127.0.0.0/8 iif lo lookup 123\" is missing",
    );
    check_names(
        WAYS[0],
        "ip -6 rule del pref 1",
        "could not connect from 2001:db8::1 to loopback: \
         rule \"from ::1 iif lo lookup 123\" is missing",
    );
}

#[test]
fn each_missing_route_is_named() {
    check_names(
        WAYS[0],
        "ip route del local 0.0.0.0/0 dev lo table local",
        "could not connect from 192.0.2.1 to loopback: \
         route \"local 0.0.0.0/0 dev lo table local src 127.0.0.1\" is missing",
    );
    check_names(
        WAYS[2],
        "ip route del local 0.0.0.0/0 dev lo table 123",
        "could not connect from 192.0.2.1 to loopback: \
         route \"local 0.0.0.0/0 dev lo table 123 src 127.0.0.1\" is missing",
    );
    check_names(
        WAYS[0],
        "ip -6 route del local ::/0 dev lo table 123",
        "could not connect from 2001:db8::1 to loopback: \
         route \"local ::/0 dev lo table 123 src ::1\" is missing",
    );
}

#[test]
fn kernels_own_rule_come_back_is_named() {
    check_names(
        WAYS[0],
        "ip rule add pref 0 lookup local protocol kernel",
        "the kernel's rule \"from all lookup local\" is still there",
    );
}

#[test]
fn each_missing_part_of_the_table_is_named() {
    check_names(
        WAYS[0],
        "nft delete table netdev proxyunwrap",
        "nft table \"netdev proxyunwrap\" is missing",
    );
    check_names(
        WAYS[1],
        "nft delete table inet proxyunwrap",
        "nft table \"inet proxyunwrap\" is missing",
    );
    check_names(
        WAYS[0],
        "nft delete chain netdev proxyunwrap in",
        "nft chain \"in\" is missing",
    );
    check_names(
        WAYS[0],
        "nft add rule netdev proxyunwrap guard ip saddr 203.0.113.0/24 return",
        "nft chain \"guard\" has other rules than ours",
    );
    check_names(
        WAYS[0],
        "nft add chain netdev proxyunwrap extra",
        "nft chain \"extra\" is not ours",
    );
}

#[test]
fn each_missing_rule_of_the_table_is_named() {
    let pod = Pod::new();
    pod.init(WAYS[0]);
    let listing = pod.inside.sh("nft -a list ruleset");
    let mut chain = "";
    for line in listing.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["chain", name, ..] = words[..] {
            chain = name;
        }
        let Some((text, handle)) = line.trim().split_once(" # handle ") else {
            continue;
        };
        if text.ends_with('{') {
            continue;
        }
        let removal = format!("nft delete rule netdev proxyunwrap {chain} handle {handle}");
        let sentence = format!("nft rule \"{text}\" in chain \"{chain}\" is missing");
        check_names(WAYS[0], &removal, &sentence);
    }
}

#[test]
fn pod_that_was_never_prepared_lacks_everything() {
    let error = Pod::new().init_fails(&format!("{} --check", WAYS[0]), 1);
    assert_eq!(error.matches(" is missing").count(), 6, "{error}");
    assert!(error.contains("is still there"), "{error}");
}

#[test]
fn packets_lost_for_another_reason_fail_init_and_no_verify_does_not_look() {
    let pod = Pod::new();
    pod.inside.sh("nft add table inet mesh
         nft add chain inet mesh out '{ type filter hook output priority 0; }'
         nft add rule inet mesh out ip saddr 192.0.2.1 drop");
    let error = pod.init_fails(WAYS[0], 1);
    assert_eq!(
        error,
        "could not connect from 192.0.2.1 to loopback, though nothing is missing: \
         no answer within 2s"
    );
    let said = pod.init(&format!("{} --no-verify", WAYS[0]));
    assert_eq!(said, "already in place\n");
}

#[test]
fn without_ipv6_only_ipv4_is_tried() {
    let said = Pod::without_ipv6().init(WAYS[0]);
    assert!(
        said.contains("192.0.2.1") && !said.contains("2001:db8::1"),
        "{said}"
    );
}
