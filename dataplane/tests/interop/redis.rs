//! Redis with Debian's own configuration, on every address; its data are the test's.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::support::namespace::Namespace;
use crate::support::process::{Folder, Process};

pub const PASSWORD: &str = "opensesame";

/// A running server and the folder it may write to.
pub struct Redis {
    _process: Process,
    _folder: Folder,
}

/// Starts it on port 6379; `settings` follow the configuration file and so win over it.
#[track_caller]
pub fn start(namespace: &Namespace, settings: &[&str]) -> Redis {
    let folder = Folder::new();
    let mut command = namespace.command("redis-server");
    command.args([
        "/etc/redis/redis.conf",
        "--daemonize",
        "no",
        "--logfile",
        "",
    ]);
    command
        .args(["--bind", "0.0.0.0", "::", "--save", "", "--dir"])
        .arg(folder.path());
    command
        .arg("--pidfile")
        .arg(folder.path().join("pid"))
        .args(settings);
    let mut process = Process::start("redis-server", &mut command);
    process.listens(namespace, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 6379)));
    process.listens(namespace, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 6379)));
    Redis {
        _process: process,
        _folder: folder,
    }
}
