//! `--undo` takes away what is ours and nothing else, from any state.

use crate::pod::{Pod, WAYS, commands};

/// What other programs in a pod may have made.
const FOREIGN: &str = "
    ip rule add pref 100 fwmark 7 lookup 42
    ip rule add pref 1 from 198.51.100.9 lookup 43
    ip -6 rule add pref 100 fwmark 7 lookup 42
    ip rule add pref 101 not from 10.9.0.0/24 lookup 44
    ip route add 198.51.100.0/24 via 10.9.0.1 table 42
    ip route add unreachable 203.0.113.0/24 table 123
    ip route add default via 10.9.0.1
    nft add table inet mesh
    nft add chain inet mesh in '{ type filter hook input priority 0; }'
    nft add rule inet mesh in tcp dport 9999 drop
    nft add table netdev other";

#[test]
fn undo_restores_every_listing() {
    for way in WAYS {
        for pod in [Pod::new(), Pod::without_ipv6()] {
            let before = pod.listings();
            pod.init(way);
            assert_ne!(pod.listings(), before, "{way}");
            pod.init("--undo");
            assert_eq!(pod.listings(), before, "{way}");
        }
    }
}

#[test]
fn undo_leaves_what_other_programs_made() {
    for way in WAYS {
        let pod = Pod::new();
        pod.inside.sh(FOREIGN);
        let before = pod.listings();
        pod.init(way);
        pod.init("--undo");
        assert_eq!(pod.listings(), before, "{way}");
    }
}

#[test]
fn undo_after_any_part_of_init_restores_and_init_completes_it() {
    for way in WAYS {
        let whole = Pod::new();
        whole.init(way);
        let pod = Pod::new();
        let before = pod.listings();
        let steps = commands(&pod.init(&format!("{way} --dry-run")));
        for done in 0..=steps.len() {
            pod.inside.sh(&steps[..done].join("\n"));
            pod.init("--undo");
            assert_eq!(pod.listings(), before, "{way}, undone after {done} steps");
            pod.inside.sh(&steps[..done].join("\n"));
            pod.init(way);
            assert_eq!(
                pod.listings(),
                whole.listings(),
                "{way}, completed after {done} steps"
            );
            pod.init("--undo");
        }
    }
}

#[test]
fn init_completes_any_part_of_an_undo() {
    for way in WAYS {
        let pod = Pod::new();
        pod.init(way);
        let whole = pod.listings();
        let steps = commands(&pod.init("--undo --dry-run"));
        for done in 0..=steps.len() {
            pod.inside.sh(&steps[..done].join("\n"));
            pod.init(way);
            assert_eq!(pod.listings(), whole, "{way}, after {done} steps of undo");
        }
    }
}

#[test]
fn undo_of_nothing_changes_nothing() {
    let pod = Pod::new();
    pod.inside.sh(FOREIGN);
    let before = pod.listings();
    assert_eq!(pod.init("--undo"), "nothing to undo\n");
    assert_eq!(pod.listings(), before);
}

#[test]
fn lines_of_an_undo_do_what_undo_does() {
    for way in WAYS {
        let pod = Pod::new();
        let before = pod.listings();
        pod.init(way);
        let lines = pod.init("--undo --dry-run");
        pod.inside.sh(&lines);
        assert_eq!(pod.listings(), before, "{way}:\n{lines}");
    }
}
