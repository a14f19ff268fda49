//! Who needs what: `init` NET_ADMIN alone, the sidecar nothing.

use std::net::SocketAddr;
use std::process::{Command, Output};

use caps::CapSet;
use proxyunwrap_dataplane::routes::{Family, SourceMode, spoof_works};
use proxyunwrap_dataplane::sys;

use crate::pod::{App, PORT, Pod, WAYS, ask_as};

#[test]
fn process_without_privileges_dials_the_app_as_the_client() {
    for (way, bound) in [
        (WAYS[0], "0.0.0.0"),
        (WAYS[0], "::"),
        (WAYS[1], "::"),
        (WAYS[3], "::"),
    ] {
        let pod = Pod::new();
        pod.init(way);
        let bound = bound.parse().expect("an address");
        let _app = App::start(&pod.inside, "app", (bound, PORT));
        let answer = dial_unprivileged(&pod, "203.0.113.7:4444", "127.0.0.1:8080");
        let mapped = if bound.is_ipv6() {
            "[::ffff:203.0.113.7]:4444"
        } else {
            "203.0.113.7:4444"
        };
        assert_eq!(answer, format!("app {mapped}"), "{way}");
        if bound.is_ipv6() {
            let answer = dial_unprivileged(&pod, "[2001:db8::7]:4444", "[::1]:8080");
            assert_eq!(answer, "app [2001:db8::7]:4444", "{way}");
        }
    }
}

#[test]
fn app_on_loopback_alone_is_dialled_too() {
    let pod = Pod::new();
    pod.init(WAYS[3]);
    let _v4 = App::start(&pod.inside, "v4", ([127, 0, 0, 1].into(), PORT));
    let _v6 = App::start(&pod.inside, "v6", ([0, 0, 0, 0, 0, 0, 0, 1].into(), PORT));
    let answer = dial_unprivileged(&pod, "203.0.113.7:4444", "127.0.0.1:8080");
    assert_eq!(answer, "v4 203.0.113.7:4444");
    let answer = dial_unprivileged(&pod, "[2001:db8::7]:4444", "[::1]:8080");
    assert_eq!(answer, "v6 [2001:db8::7]:4444");
}

#[test]
fn self_test_of_the_sidecar_tells_a_prepared_pod_from_another() {
    let pod = Pod::new();
    let works = |family| {
        pod.inside
            .enter(|| unprivileged(|| spoof_works(family, SourceMode::Routed)))
    };
    let families = [Family::V4, Family::V6];
    assert!(families.into_iter().all(|family| works(family).is_err()));
    pod.init(WAYS[0]);
    assert!(families.into_iter().all(|family| works(family).is_ok()));
    pod.init("--undo");
    assert!(families.into_iter().all(|family| works(family).is_err()));
}

#[test]
fn net_admin_alone_is_enough_for_init() {
    for way in WAYS {
        let (pod, by_root) = (Pod::new(), Pod::new());
        let output = init_with(&pod, "-all,+net_admin", way);
        assert!(
            output.status.success(),
            "{way}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        by_root.init(way);
        assert_eq!(pod.listings(), by_root.listings(), "{way}");
    }
}

/// As a pod with `hostUsers: false`: capabilities count in its own user namespace alone.
#[test]
fn net_admin_of_a_user_namespace_is_enough_for_init() {
    let script = format!(
        "ip link set lo up
         ip link add eth0 type veth peer name peer0
         ip addr add 10.9.0.2/24 dev eth0
         ip link set eth0 up
         {0} init --redirect 8080:15001
         {0} init --undo",
        env!("CARGO_BIN_EXE_proxyunwrap-dataplane")
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-ec", &script]);
    let output = command.output().expect("these tests need util-linux");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        said.contains("verified: loopback takes a connection from 192.0.2.1"),
        "{said}"
    );
}

#[test]
fn without_net_admin_the_message_says_so() {
    let pod = Pod::new();
    let before = pod.listings();
    for arguments in [WAYS[0], "--undo"] {
        let output = init_with(&pod, "-net_admin", arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.ends_with(": operation not permitted; init needs NET_ADMIN\n"),
            "{error}"
        );
    }
    assert_eq!(pod.listings(), before);
}

fn init_with(pod: &Pod, bounding_set: &str, arguments: &str) -> Output {
    pod.inside
        .command("setpriv")
        .arg(format!("--bounding-set={bounding_set}"))
        .args([
            "--no-new-privs",
            env!("CARGO_BIN_EXE_proxyunwrap-dataplane"),
            "init",
        ])
        .args(arguments.split_whitespace())
        .output()
        .expect("ip starts")
}

#[track_caller]
fn dial_unprivileged(pod: &Pod, client: &str, app: &str) -> String {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address and a port");
    let answer = pod
        .inside
        .enter(|| unprivileged(|| ask_as(address(client), address(app))));
    answer.expect("the app answers")
}

/// Runs `work` with uid 65532 and no capability; the calling thread ends with it.
fn unprivileged<T>(work: impl FnOnce() -> T) -> T {
    sys::become_user(65532).expect("root may become anyone");
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        let left = caps::read(None, set).expect("/proc is there");
        assert!(left.is_empty(), "{set:?} still has {left:?}");
    }
    work()
}
