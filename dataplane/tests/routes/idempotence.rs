//! Twice is once, from wherever it starts, and the printed commands are what `init` does.

use crate::pod::{Pod, WAYS};

#[test]
fn second_init_changes_nothing() {
    for way in WAYS {
        for pod in [Pod::new(), Pod::without_ipv6()] {
            pod.init(way);
            let once = pod.listings();
            let said = pod.init(way);
            assert_eq!(said.lines().next(), Some("already in place"), "{way}");
            assert_eq!(pod.listings(), once, "{way}");
        }
    }
}

#[test]
fn init_after_another_way_leaves_nothing_of_it() {
    for way in WAYS {
        let fresh = Pod::new();
        fresh.init(way);
        let pod = Pod::new();
        for other in WAYS {
            pod.init(other);
        }
        pod.init(way);
        assert_eq!(pod.listings(), fresh.listings(), "{way}");
    }
}

#[test]
fn dry_run_changes_nothing_and_its_lines_do_what_init_does() {
    for way in WAYS {
        let (by_init, by_hand) = (Pod::new(), Pod::new());
        let before = by_hand.listings();
        let lines = by_hand.init(&format!("{way} --dry-run"));
        assert_eq!(by_hand.listings(), before, "{way}");
        by_hand.inside.sh(&lines);
        by_init.init(way);
        assert_eq!(by_hand.listings(), by_init.listings(), "{way}:\n{lines}");
        assert_eq!(expressions(&by_hand), expressions(&by_init), "{way}");
    }
}

#[test]
fn dry_run_of_what_is_in_place_says_so_to_the_shell() {
    let pod = Pod::new();
    pod.init(WAYS[0]);
    assert_eq!(
        pod.init(&format!("{} --dry-run", WAYS[0])),
        "# already in place\n"
    );
    pod.init("--undo");
    assert_eq!(pod.init("--undo --dry-run"), "# nothing to undo\n");
}

#[test]
fn several_interfaces_are_listed_like_those_of_nft() {
    let (by_init, by_hand) = (Pod::new(), Pod::new());
    for pod in [&by_init, &by_hand] {
        pod.inside.sh("ip link add net1 type veth peer name net1p
                       ip link set net1 addrgenmode none up
                       ip addr add 10.8.0.2/24 dev net1");
    }
    let lines = by_hand.init("--redirect 8080:15001 --dry-run");
    assert!(
        lines.contains("devices = { \"eth0\", \"net1\" }"),
        "{lines}"
    );
    by_hand.inside.sh(&lines);
    by_init.init("--redirect 8080:15001");
    assert_eq!(by_hand.listings(), by_init.listings());
    assert!(
        by_init
            .init("--redirect 8080:15001")
            .starts_with("already in place")
    );
}

#[test]
fn only_the_named_interface_is_steered() {
    let pod = Pod::new();
    pod.inside.sh("ip link add net1 type veth peer name net1p
                   ip link set net1 addrgenmode none up
                   ip addr add 10.8.0.2/24 dev net1");
    pod.init("--redirect 8080:15001 --interface net1");
    let table = pod.inside.sh("nft list ruleset");
    assert!(
        table.contains("device \"net1\"") && !table.contains("eth0"),
        "{table}"
    );
}

/// The expressions of our table, without handles. The checksum of a quoted port is left out: it is
/// the one thing `nft` cannot be told.
fn expressions(pod: &Pod) -> String {
    let all = pod.inside.sh("nft --debug=netlink list ruleset");
    let ours = all
        .lines()
        .filter(|line| line.trim_start().starts_with('['));
    let quoted =
        |line: &&str| line.contains("header + 28 csum") || line.contains("header + 48 csum");
    ours.filter(|line| !quoted(line))
        .collect::<Vec<_>>()
        .join("\n")
}
