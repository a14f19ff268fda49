//! Postfix with Debian's master.cf, in folders of the test.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{PermissionsExt, chown};
use std::time::Duration;

use nix::unistd::User;

use crate::support::namespace::Namespace;
use crate::support::process::{Folder, Process};
use crate::support::wait;

pub struct Postfix {
    _process: Process,
    folder: Folder,
}

impl Postfix {
    /// Listens on port 25 of every address and relays for `mynetworks` alone, as Debian's does.
    #[track_caller]
    pub fn start(namespace: &Namespace) -> Self {
        let folder = Folder::new();
        lay_out(&folder);
        let mut command = namespace.command("postfix");
        command.arg("-c").arg(folder.path()).arg("start-fg");
        let mut process = Process::start("postfix", &mut command);
        process.listens(namespace, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 25)));
        process.listens(namespace, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 25)));
        Self {
            _process: process,
            folder,
        }
    }

    /// Waits until the log has a connection from exactly this address and port.
    #[track_caller]
    pub fn logged_connect(&self, client: SocketAddr) {
        let text = format!(": connect from unknown[{}]:{}", client.ip(), client.port());
        let what = format!("postfix's log says {text:?}");
        let found = || {
            self.folder
                .read("log")
                .lines()
                .any(|line| line.ends_with(&text))
                .then_some(())
        };
        wait::until(&what, Duration::from_secs(5), found);
    }
}

/// Writes the configuration, and makes the folders that Postfix wants to own itself.
#[track_caller]
fn lay_out(folder: &Folder) {
    let path = folder.path().display();
    folder.write(
        "main.cf",
        // The first half is Debian's; then the paths, and no look-ups where no DNS answers.
        &format!(
            "smtpd_banner = $myhostname ESMTP $mail_name (Debian/GNU)
compatibility_level = 3.6
smtpd_relay_restrictions = permit_mynetworks permit_sasl_authenticated defer_unauth_destination
mynetworks = 127.0.0.0/8 [::ffff:127.0.0.0]/104 [::1]/128
mydestination = mail.example
inet_interfaces = all
inet_protocols = all
alias_maps =
alias_database =

myhostname = mail.example
queue_directory = {path}/queue
data_directory = {path}/data
maillog_file = {path}/log
maillog_file_prefixes = {path}
smtpd_client_port_logging = yes
smtpd_peername_lookup = no
"
        ),
    );
    fs::copy(
        "/usr/share/postfix/master.cf.dist",
        folder.path().join("master.cf"),
    )
    .expect("these tests need postfix: make packages");
    let user = User::from_name("postfix")
        .expect("users can be listed")
        .expect("the package adds it");
    for name in ["queue", "data"] {
        let own = folder.path().join(name);
        fs::create_dir(&own).expect("it is our folder");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("it is our folder");
        if name == "data" {
            chown(&own, Some(user.uid.as_raw()), None).expect("root may give folders away");
        }
    }
}
