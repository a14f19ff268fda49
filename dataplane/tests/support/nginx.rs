//! nginx, as the app and as a balancer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::support::namespace::Namespace;
use crate::support::process::{Folder, Process};
use crate::support::wait;

/// A running nginx.
pub struct Nginx {
    _process: Process,
    folder: Folder,
}

impl Nginx {
    /// The app: answers every request, and logs the address and port it was asked from.
    #[track_caller]
    pub fn app(namespace: &Namespace, port: u16) -> Self {
        let folder = Folder::new();
        let everywhere = [
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        ];
        let [four, six] = everywhere;
        let http = format!(
            "http {{
                log_format client '$remote_addr:$remote_port';
                access_log {} client;
                server {{
                    listen {four};
                    listen {six};
                    location / {{ return 200 'hello from nginx\\n'; }}
                }}
            }}",
            folder.path().join("access.log").display()
        );
        Self::start(namespace, folder, &http, &everywhere)
    }

    /// An app of these `server` blocks, listening on these addresses.
    #[track_caller]
    pub fn http(namespace: &Namespace, servers: &str, addresses: &[SocketAddr]) -> Self {
        let block = format!("http {{ access_log off; {servers} }}");
        Self::start(namespace, Folder::new(), &block, addresses)
    }

    /// A balancer: its stream module passes connections on, as these `server` blocks say.
    #[track_caller]
    pub fn stream(namespace: &Namespace, servers: &str, fronts: &[SocketAddr]) -> Self {
        Self::start(
            namespace,
            Folder::new(),
            &format!("stream {{ {servers} }}"),
            fronts,
        )
    }

    /// Runs in the foreground with Debian's modules; returns once it listens on `addresses`.
    #[track_caller]
    fn start(ns: &Namespace, folder: Folder, block: &str, addresses: &[SocketAddr]) -> Self {
        let file = folder.write(
            "nginx.conf",
            &format!(
                "include /etc/nginx/modules-enabled/*.conf;
                 user www-data;
                 worker_processes 1;
                 pid {};
                 daemon off;
                 error_log stderr;
                 events {{}}
                 {block}\n",
                folder.path().join("pid").display()
            ),
        );
        let mut command = ns.command("nginx");
        command.arg("-c").arg(file);
        let mut process = Process::start("nginx", &mut command);
        for address in addresses {
            process.listens(ns, *address);
        }
        Self {
            _process: process,
            folder,
        }
    }

    /// Waits until the access log has a request from exactly this address and port.
    #[track_caller]
    pub fn logged(&self, client: SocketAddr) {
        // nginx prints IPv6 addresses bare.
        let line = format!("{}:{}", client.ip(), client.port());
        let what = format!("nginx's access log says {line}");
        let found = || {
            self.access_log()
                .lines()
                .any(|logged| logged == line)
                .then_some(())
        };
        wait::until(&what, Duration::from_secs(5), found);
    }

    /// Waits until the access log has a request from this address, whatever the port.
    #[track_caller]
    pub fn logged_address(&self, client: IpAddr) {
        let start = format!("{client}:");
        let what = format!("nginx's access log has a line from {client}");
        let found = || {
            self.access_log()
                .lines()
                .any(|line| line.starts_with(&start))
                .then_some(())
        };
        wait::until(&what, Duration::from_secs(5), found);
    }

    fn access_log(&self) -> String {
        self.folder.read("access.log")
    }
}
