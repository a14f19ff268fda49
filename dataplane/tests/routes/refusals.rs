//! Requests that cannot be met end with exit code 2 and a sentence, and change nothing.

use crate::pod::Pod;

#[track_caller]
fn refused(pod: &Pod, arguments: &str, sentence: &str) {
    let before = pod.listings();
    assert_eq!(pod.init_fails(arguments, 2), sentence);
    assert_eq!(pod.listings(), before);
}

#[test]
fn impossible_requests_are_refused_before_anything_changes() {
    let pod = Pod::new();
    refused(
        &pod,
        "--redirect 8080:15001 --redirect 9090:15001",
        "redirect 9090:15001 uses a port that another redirect uses already",
    );
    refused(
        &pod,
        "--redirect 8080:15001 --redirect 15001:15002",
        "port 15001 cannot be both dialled by peers and the sidecar's own; take another number",
    );
    refused(
        &pod,
        "--redirect 8080:8080",
        "port 8080 cannot be both dialled by peers and the sidecar's own; take another number",
    );
    refused(
        &pod,
        "--steer same-port --redirect 8080:15001",
        "--steer same-port redirects nothing; leave out --redirect or choose another --steer",
    );
    refused(
        &pod,
        "--interface eth7",
        "there is no interface \"eth7\" in this namespace",
    );
    refused(
        &pod,
        "--interface lo",
        "interface \"lo\" is loopback, which is never steered",
    );
}

#[test]
fn redirect_that_is_none_is_refused_with_an_example() {
    for redirect in [
        "8080",
        "8080:",
        "0:15001",
        "8080:70000",
        "http:15001",
        "1:2:3",
    ] {
        let error = Pod::new().init_fails(&format!("--redirect {redirect}"), 2);
        assert!(
            error.contains("expected PORT:LISTEN, as in 8080:15001"),
            "{error}"
        );
    }
}

#[test]
fn namespace_without_loopback_is_refused() {
    let pod = Pod::new();
    pod.inside.sh("ip link set lo down");
    refused(
        &pod,
        "--redirect 8080:15001",
        "lo is down or has neither 127.0.0.1 nor ::1: there is no loopback to dial an app on",
    );
}

#[test]
fn namespace_without_an_interface_has_nothing_to_redirect_but_lends_sources() {
    let pod = Pod::new();
    pod.inside.sh("ip link del eth0");
    refused(
        &pod,
        "--redirect 8080:15001",
        "no interface to steer: none but lo is up and has an address; name one with --interface",
    );
    let said = pod.init("");
    assert!(said.contains("no guard: no interface but lo"), "{said}");
    assert!(said.contains("verified"), "{said}");
}

#[test]
fn rule_of_another_program_that_would_cut_the_pod_off_is_refused() {
    for strange in [
        "pref 100 from all lookup local",
        "pref 0 from all lookup 42",
    ] {
        let pod = Pod::new();
        pod.inside.sh(&format!("ip rule add {strange}"));
        let shown = strange.replacen("pref ", "", 1).replacen(' ', ": ", 1);
        refused(
            &pod,
            "--redirect 8080:15001",
            &format!(
                "rule \"{shown}\" of another program asks the local table or comes first; use \
                 --source-mode transparent"
            ),
        );
        pod.init("--redirect 8080:15001 --source-mode transparent");
    }
}

#[test]
fn route_of_another_program_in_our_place_is_named() {
    let pod = Pod::new();
    pod.inside
        .sh("ip -6 route add local default dev lo table 123");
    assert_eq!(
        pod.init_fails("", 1),
        "could not add route \"local ::/0 dev lo table 123 src ::1\": file exists; another program \
         made one like it, remove that first"
    );
}
