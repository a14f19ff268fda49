//! HAProxy as the balancer.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::support::lab::{FRONT4, FRONT6, Lab, POD4, POD6};
use crate::support::process::{Folder, Process};
use crate::support::wait;

/// A running HAProxy; its log is its output.
pub struct Haproxy {
    process: Process,
    _folder: Folder,
}

impl Haproxy {
    /// Listens on the balancer's two front addresses and passes each family on over itself.
    /// `options` are words of the `server` line.
    #[track_caller]
    pub fn start(lab: &Lab, port: u16, options: &str) -> Self {
        let four = listen("four", &bind(FRONT4, port), POD4, port, options);
        let six = listen("six", &bind(FRONT6, port), POD6, port, options);
        let fronts = [FRONT4, FRONT6].map(|address| SocketAddr::new(address, port));
        Self::with(lab, &(four + &six), &fronts)
    }

    /// Runs with these `listen` sections until dropped; returns once it listens on `fronts`.
    #[track_caller]
    pub fn with(lab: &Lab, sections: &str, fronts: &[SocketAddr]) -> Self {
        let folder = Folder::new();
        let file = folder.write("haproxy.cfg", &format!("{COMMON}{sections}"));
        let mut command = lab.balancer.command("haproxy");
        let mut process = Process::start("haproxy", command.arg("-db").arg("-f").arg(file));
        for front in fronts {
            process.listens(&lab.balancer, *front);
        }
        Self {
            process,
            _folder: folder,
        }
    }

    /// Waits for a line of its log with this text, and returns it: there is a line a connection, at
    /// the end, beginning with `address:port [`, and a line for each change of a health check.
    #[track_caller]
    pub fn logged(&self, text: &str) -> String {
        let what = format!("haproxy's log says {text:?}");
        wait::until(&what, Duration::from_secs(5), || {
            let log = self.process.output();
            log.lines()
                .find(|line| line.contains(text))
                .map(str::to_owned)
        })
    }
}

const COMMON: &str = "\
global
    log stdout format raw local0
defaults
    mode tcp
    log global
    option tcplog
    timeout connect 5s
    timeout client 30s
    timeout server 30s
";

/// The text of a `bind` line for an address and port.
pub fn bind(address: IpAddr, port: u16) -> String {
    format!("bind {}", SocketAddr::new(address, port))
}

/// A `listen` section that sends everything to one server.
pub fn listen(name: &str, binds: &str, server: IpAddr, port: u16, options: &str) -> String {
    let server = SocketAddr::new(server, port);
    format!("listen {name}\n    {binds}\n    server pod {server} {options}\n")
}
