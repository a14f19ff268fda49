//! Configurations that would let everybody in, or mean something else than they say.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::support::app::{self, App};
use crate::support::pod::{LISTEN, enrolled};
use crate::support::stand::{PORT, Stand, with};
use crate::support::wire;

const PEERS: &str =
    r#"{require: [10.9.0.0/24, "fd00:9::/64"], optional: [], forbid: [], pass: []}"#;

#[test]
fn a_configuration_without_peers_does_not_start_and_says_whom_to_list() {
    let stand = stand("no-peers");
    let config = with(&enrolled(PORT), PEERS, "{require: []}");
    refuses(
        &stand,
        &config,
        &[
            "ports[0].peers",
            "no peer is listed",
            "require: [10.0.0.0/8]",
        ],
    );
    let config = with(&enrolled(PORT), &format!("  peers: {PEERS}\n"), "");
    refuses(&stand, &config, &["ports[0]", "missing field `peers`"]);
}

#[test]
fn an_unknown_field_does_not_start_and_is_named_with_its_path() {
    let stand = stand("fields");
    let config = with(&enrolled(PORT), "timeout: 5s", "timout: 5s");
    refuses(&stand, &config, &["ports[0].header", "timout"]);
    let config = format!("{}limit: {{connections: 5}}\n", enrolled(PORT));
    refuses(&stand, &config, &["unknown field `limit`"]);
    let config = with(&enrolled(PORT), "timeout: 5s", "timeout: 2s");
    refuses(&stand, &config, &["ports[0].header.timeout", "3s"]);
}

#[test]
fn a_configuration_that_cannot_be_read_does_not_start_and_is_named() {
    let stand = stand("unreadable");
    let path = stand.file("absent.yaml");
    fails(
        &stand,
        &["serve", "--config", &path.display().to_string()],
        &["absent.yaml", "No such file"],
    );
    let path = stand.configure(&enrolled(PORT));
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is root's");
    fails(
        &stand,
        &["serve", "--config", &path.display().to_string()],
        &["config.yaml", "Permission denied"],
    );
}

#[test]
fn go_mmproxys_flags_without_a_usable_list_of_subnets_do_not_start() {
    let stand = stand("subnets");
    let listen = format!("0.0.0.0:{LISTEN}");
    let with_list = |list: &str, says: &[&str]| {
        let words = ["-l", &listen, "--allowed-subnets", list, "-v", "2"];
        fails(&stand, &words, says);
    };
    fails(
        &stand,
        &["-l", &listen, "-v", "2"],
        &["--allowed-subnets FILE"],
    );
    let list = |text: &str| {
        let path = stand.file("subnets");
        fs::write(&path, text).expect("it is our own folder");
        path.display().to_string()
    };
    with_list(&list(""), &["no peer is listed"]);
    with_list(&list("# 10.0.0.0/8\n\n"), &["no peer is listed"]);
    with_list(
        &list("10.9.0.0/24\nbalancer\n"),
        &["subnets", "line 2", "balancer"],
    );
    with_list(
        &stand.file("absent").display().to_string(),
        &["absent", "No such file"],
    );
    let closed = list("10.9.0.0/24\n");
    fs::set_permissions(&closed, Permissions::from_mode(0o600)).expect("it is root's");
    with_list(&closed, &["subnets", "Permission denied"]);
}

#[test]
fn a_go_mmproxy_command_line_serves() {
    let mut stand = stand("mmproxy");
    let subnets = stand.file("subnets");
    fs::write(&subnets, "10.9.0.0/24\n").expect("it is our own folder");
    let (listen, subnets) = (format!("0.0.0.0:{LISTEN}"), subnets.display().to_string());
    let app = format!("127.0.0.1:{PORT}");
    let words = [
        "-l",
        &listen,
        "-4",
        &app,
        "--allowed-subnets",
        &subnets,
        "-v",
        "2",
    ];
    stand.launch(&[], &words, &[listen.parse().expect("an address")]);
    let _app = App::start(&stand.lab.pod.namespace, &app, app::report);
    let client = wire::client4(0);
    let stream = stand.dial();
    let answer = wire::exchange(&stream, &[&wire::v1(client)[..], b"payload"].concat());
    assert_eq!(answer, format!("{client} payload"));
}

#[track_caller]
fn stand(label: &str) -> Stand {
    Stand::prepared(label, &enrolled(PORT))
}

/// This configuration ends the start, and the last line of the output says all of this.
#[track_caller]
fn refuses(stand: &Stand, config: &str, says: &[&str]) {
    let path = stand.configure(config);
    fails(
        stand,
        &["serve", "--config", &path.display().to_string()],
        says,
    );
}

#[track_caller]
fn fails(stand: &Stand, words: &[&str], says: &[&str]) {
    let output = stand.run(words);
    let text = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(1), "{words:?}: {text}");
    let last = text.lines().last().unwrap_or_default();
    let missing: Vec<_> = says.iter().filter(|word| !last.contains(**word)).collect();
    assert!(missing.is_empty(), "{last:?} does not say {missing:?}");
}
