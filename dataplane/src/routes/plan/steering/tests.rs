use super::*;
use crate::routes::plan::SourceMode;

const TWO: [Redirect; 2] = [
    Redirect {
        port: 8080,
        listen: 15001,
    },
    Redirect {
        port: 8443,
        listen: 15002,
    },
];

fn interface(name: &str, addresses: &[&str]) -> Interface {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Interface {
        name: name.to_owned(),
        up: true,
        loopback: name == "lo",
        addresses,
    }
}

#[track_caller]
fn check(family: TableFamily, redirects: &[Redirect], interfaces: &[Interface], want: &str) {
    let devices = interfaces
        .iter()
        .filter(|i| !i.loopback)
        .map(|i| i.name.clone());
    let request = Request {
        redirects,
        table: Some(family),
        source_mode: SourceMode::Routed,
        interfaces,
        devices: &devices.collect::<Vec<_>>(),
    };
    let text = table(family, &request).to_string().replace('\t', "    ");
    assert_eq!(text.trim(), want.trim());
}

#[test]
fn netdev_guards_what_leaves_and_rewrites_both_ways() {
    check(
        TableFamily::Netdev,
        &TWO[..1],
        &[
            interface("lo", &["127.0.0.1", "::1"]),
            interface("eth0", &["10.1.0.2", "fd00::2"]),
        ],
        r#"
table netdev proxyunwrap {
    chain guard {
        ip saddr 10.1.0.2 return
        ip saddr 0.0.0.0 return
        meta protocol ip drop
        ip6 saddr fd00::2 return
        ip6 saddr fe80::/10 return
        ip6 saddr :: return
        meta protocol ip6 drop
    }
    chain out {
        type filter hook egress device "eth0" priority 500; policy accept;
        jump guard
        tcp sport 15001 tcp sport set 8080
    }
    chain in {
        type filter hook ingress device "eth0" priority -500; policy accept;
        tcp dport 15001 drop
        tcp dport 8080 tcp dport set 15001
        icmp type destination-unreachable @th,136,8 0x6 @th,224,16 0x1f90 @th,224,16 set 0x3a99
        icmpv6 type packet-too-big @th,112,8 0x6 @th,384,16 0x1f90 @th,384,16 set 0x3a99
    }
}"#,
    );
}

#[test]
fn inet_sends_only_the_named_interfaces_through_the_same_chains() {
    check(
        TableFamily::Inet,
        &TWO[..1],
        &[
            interface("eth0", &["10.1.0.2"]),
            interface("net1", &["10.2.0.2"]),
        ],
        r#"
table inet proxyunwrap {
    chain guard {
        ip saddr 10.1.0.2 return
        ip saddr 10.2.0.2 return
        ip saddr 0.0.0.0 return
        meta nfproto ipv4 drop
    }
    chain output {
        type filter hook output priority 0; policy accept;
        oifname "eth0" jump guard
        oifname "net1" jump guard
    }
    chain in {
        tcp dport 15001 drop
        tcp dport 8080 tcp dport set 15001
        icmp type destination-unreachable @th,136,8 0x6 @th,224,16 0x1f90 @th,224,16 set 0x3a99
        icmpv6 type packet-too-big @th,112,8 0x6 @th,384,16 0x1f90 @th,384,16 set 0x3a99
    }
    chain out {
        tcp sport 15001 tcp sport set 8080
    }
    chain prerouting {
        type filter hook prerouting priority -300; policy accept;
        iifname "eth0" jump in
        iifname "net1" jump in
    }
    chain postrouting {
        type filter hook postrouting priority 300; policy accept;
        oifname "eth0" jump out
        oifname "net1" jump out
    }
}"#,
    );
}

#[test]
fn without_redirects_there_is_the_guard_alone() {
    check(
        TableFamily::Netdev,
        &[],
        &[
            interface("eth0", &["10.1.0.2"]),
            interface("net1", &["10.2.0.2"]),
        ],
        r#"
table netdev proxyunwrap {
    chain guard {
        ip saddr 10.1.0.2 return
        ip saddr 10.2.0.2 return
        ip saddr 0.0.0.0 return
        meta protocol ip drop
    }
    chain out {
        type filter hook egress devices = { "eth0", "net1" } priority 500; policy accept;
        jump guard
    }
}"#,
    );
}

#[test]
fn every_port_of_the_sidecar_is_closed_before_any_packet_is_rewritten() {
    let statements = arrivals(&TWO);
    let drops = |statement: &Statement| statement.action == Action::Drop;
    assert!(statements[..2].iter().all(drops), "{statements:?}");
    assert!(!statements[2..].iter().any(drops), "{statements:?}");
}

#[test]
fn own_addresses_are_sorted_once_each_and_of_every_interface() {
    let interfaces = [
        interface("lo", &["127.0.0.1", "::1", "198.51.100.9"]),
        interface("eth0", &["10.1.0.3", "10.1.0.2", "fe80::2"]),
        interface("net1", &["10.1.0.2", "fd00::2"]),
    ];
    let own: Vec<_> = own_addresses(&interfaces)
        .iter()
        .map(IpNet::to_string)
        .collect();
    assert_eq!(
        own,
        [
            "10.1.0.2/32",
            "10.1.0.3/32",
            "198.51.100.9/32",
            "fd00::2/128"
        ]
    );
}
