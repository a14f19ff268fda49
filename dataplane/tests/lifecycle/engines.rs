//! Which engine serves: what was asked for, what can be had, and how one finds out.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::support::app::{self, App};
use crate::support::pod::{ADMIN, LISTEN, enrolled};
use crate::support::stand::{PORT, Stand};
use crate::support::talk::Talk;

/// Runs a program without io_uring, as default seccomp profiles of containers do it: its three system
/// calls, which have the same numbers everywhere, end with EPERM. No tool of Debian 12 has a filter
/// of one's own.
const WITHOUT: &str = r"
    use POSIX ();
    my $prctl = (POSIX::uname())[4] eq 'x86_64' ? 157 : 167;
    my $program = join '', map { pack 'SCCL', @$_ }
        [0x20, 0, 0, 0], [0x35, 0, 2, 425], [0x25, 1, 0, 427],
        [0x06, 0, 0, 0x50001], [0x06, 0, 0, 0x7fff0000];
    my $filter = pack 'S x6 P', 5, $program;
    syscall($prctl, 38, 1, 0, 0, 0) == 0 or die qq(no_new_privs: $!);
    syscall($prctl, 22, 2, $filter) == 0 or die qq(seccomp: $!);
    exec @ARGV or die qq(exec: $!);
";

#[test]
fn each_engine_serves_and_is_named_by_the_metric() {
    for engine in ["epoll", "io_uring"] {
        let stand = serving(&[], engine);
        served(&stand);
        assert_eq!(named(&stand), engine);
    }
}

#[test]
fn where_seccomp_forbids_io_uring_serve_needs_no_flag() {
    let stand = serving(&["perl", "-e", WITHOUT], "auto");
    served(&stand);
    assert_eq!(named(&stand), "epoll");
}

#[test]
fn an_engine_that_cannot_be_had_is_refused_with_the_reason_and_a_way_out() {
    let stand = Stand::prepared("refused", &enrolled(PORT));
    let config = stand.configure(&enrolled(PORT));
    let mut command = stand.command(&["timeout", "20", "perl", "-e", WITHOUT]);
    let command = command.args(["serve", "--engine", "io_uring", "--config"]);
    let output = command.arg(config).output().expect("ip netns exec starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["--engine io_uring", "seccomp", "--engine auto"] {
        assert!(said.contains(word), "no {word:?}: {said}");
    }
}

#[track_caller]
fn serving(wrapper: &[&str], engine: &str) -> Stand {
    let config = enrolled(PORT);
    let mut stand = Stand::prepared("engine", &config);
    let path = stand.configure(&config);
    let path = path.to_str().expect("a temporary folder has a plain name");
    let any = |port| SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
    let words = ["serve", "--engine", engine, "--config", path];
    stand.launch(wrapper, &words, &[any(LISTEN), any(ADMIN)]);
    stand
}

#[track_caller]
fn served(stand: &Stand) {
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let talk = Talk::open(stand, 0);
    talk.says("hello");
    talk.ends();
}

/// The label of the one series.
#[track_caller]
fn named(stand: &Stand) -> &'static str {
    let metrics = stand.metrics();
    let serves = |engine: &&str| metrics.sum(&format!("engine{{engine=\"{engine}\"}}")) == 1;
    let named: Vec<_> = ["epoll", "io_uring"].into_iter().filter(serves).collect();
    assert_eq!(named.len(), 1, "{metrics}");
    named[0]
}
