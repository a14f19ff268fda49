//! What the process may do while it serves.

use std::net::{Ipv6Addr, SocketAddr};

use super::as_root::{self, SETS};
use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, Lab, POD4};
use crate::support::pod::{LISTEN, enrolled};
use crate::support::process::Folder;
use crate::support::stand::{PORT, Stand};
use crate::support::talk::Talk;
use crate::support::wire;

const NONE: &str = "0000000000000000";

#[test]
fn it_serves_as_uid_65532_without_any_capability() {
    let stand = Stand::new("privileges", &enrolled(PORT));
    let _app = App::start(&stand.lab.pod.namespace, "0.0.0.0:8080", app::echo);
    Talk::open(&stand, 1).ends();
    let status = |field| as_root::status(stand.pid(), field);
    assert_eq!(SETS.map(status), [NONE; 5]);
    assert_eq!(status("NoNewPrivs"), "1");
    assert_eq!(status("Uid"), "65532\t65532\t65532\t65532");
}

#[test]
fn started_as_root_it_gives_up_every_capability_and_serves() {
    let lab = Lab::new("as-root");
    lab.pod.init(&enrolled(PORT));
    let _app = App::start(&lab.pod.namespace, "0.0.0.0:8080", app::echo);
    let folder = Folder::new();
    let config = folder.write("config.yaml", &enrolled(PORT));
    let config = config.to_str().expect("a plain name");
    let listen = SocketAddr::from((Ipv6Addr::UNSPECIFIED, LISTEN));
    let process = as_root::start(&lab, &["serve", "--config", config], listen);
    let stream = wire::dial(&lab.balancer, BALANCER4, (POD4, PORT).into());
    let talk = Talk::begin(stream, 1);
    talk.is_greeted();
    talk.ends();
    let status = |field| as_root::status(process.pid(), field);
    assert_eq!(SETS.map(status), [NONE; 5]);
    assert_eq!(status("NoNewPrivs"), "1");
}
