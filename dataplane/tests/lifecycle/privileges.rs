//! What the process may do while it serves.

use crate::support::app::{self, App};
use crate::support::lab::Lab;
use crate::support::pod::{LISTEN, enrolled};
use crate::support::process::{Folder, Process};
use crate::support::stand::{PORT, Stand};
use crate::support::talk::Talk;

const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
const NONE: &str = "0000000000000000";

#[test]
fn it_serves_as_uid_65532_without_any_capability() {
    let stand = Stand::new("privileges", &enrolled(PORT));
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    Talk::open(&stand, 1).ends();
    for set in SETS {
        assert_eq!(stand.status(set), NONE, "{set}");
    }
    assert_eq!(stand.status("NoNewPrivs"), "1");
    assert_eq!(stand.status("Uid"), "65532\t65532\t65532\t65532");
}

#[test]
fn started_as_root_it_gives_up_every_capability() {
    let lab = Lab::new("as-root");
    lab.pod.init(&enrolled(PORT));
    let folder = Folder::new();
    let config = folder.write("config.yaml", &enrolled(PORT));
    let mut command = lab
        .pod
        .namespace
        .command(env!("CARGO_BIN_EXE_proxyunwrap-dataplane"));
    let mut process = Process::start("serve", command.args(["serve", "--config"]).arg(config));
    process.listens(
        &lab.pod.namespace,
        (std::net::Ipv6Addr::UNSPECIFIED, LISTEN).into(),
    );
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid()));
    let status = status.expect("it runs");
    for set in SETS {
        assert!(
            status.contains(&format!("{set}:\t{NONE}")),
            "{set} of {status}"
        );
    }
}
