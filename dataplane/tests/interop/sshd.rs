//! OpenSSH's server with Debian's own configuration; keys and log are the test's.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use crate::support::namespace::Namespace;
use crate::support::process::{Folder, Process};
use crate::support::wait;

pub struct Sshd {
    process: Process,
    folder: Folder,
}

impl Sshd {
    /// Listens on port 22 of every address; root may log in with the test's key.
    #[track_caller]
    pub fn start(namespace: &Namespace) -> Self {
        // The package's service makes this folder; sshd refuses to start without it.
        fs::create_dir_all("/run/sshd").expect("root may write to /run");
        let folder = Folder::new();
        keygen(&folder, "host");
        keygen(&folder, "user");
        let mut command = namespace.command("/usr/sbin/sshd");
        command.args([
            "-D",
            "-e",
            "-f",
            "/etc/ssh/sshd_config",
            "-o",
            "LogLevel=VERBOSE",
        ]);
        command.args([
            "-o",
            "PidFile=none",
            "-o",
            "PermitRootLogin=prohibit-password",
        ]);
        // Keys lie in /tmp, which everyone may write to; StrictModes refuses such a place.
        command.args(["-o", "StrictModes=no", "-o"]);
        command.arg(format!(
            "AuthorizedKeysFile={}/user.pub",
            folder.path().display()
        ));
        command.arg("-h").arg(folder.path().join("host"));
        let mut process = Process::start("sshd", &mut command);
        process.listens(namespace, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 22)));
        process.listens(namespace, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 22)));
        Self { process, folder }
    }

    /// Logs in with a real client and returns the session's `SSH_CONNECTION`.
    #[track_caller]
    pub fn log_in(&self, client: &Namespace, to: IpAddr) -> String {
        let connection = self.run(client, to, "echo $SSH_CONNECTION", b"");
        String::from_utf8(connection).expect("it is addresses and ports")
    }

    /// Runs a command in a session, and returns what it answers to `input`.
    #[track_caller]
    pub fn run(&self, client: &Namespace, to: IpAddr, remote: &str, input: &[u8]) -> Vec<u8> {
        let file = self.folder.path().join("input");
        fs::write(&file, input).expect("the temporary folder is writable");
        let input = File::open(file).expect("it was written");
        let mut command = client.command("ssh");
        command.args([
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "BatchMode=yes",
        ]);
        command.args([
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "ConnectTimeout=10",
        ]);
        command.arg("-i").arg(self.folder.path().join("user"));
        command.arg(format!("root@{to}")).arg(remote);
        let output = command.stdin(input).output().expect("ssh starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    #[track_caller]
    pub fn logged(&self, text: &str) {
        let what = format!("sshd's log says {text:?}");
        let found = || self.process.output().contains(text).then_some(());
        wait::until(&what, Duration::from_secs(5), found);
    }
}

#[track_caller]
fn keygen(folder: &Folder, name: &str) {
    let mut command = Command::new("ssh-keygen");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(folder.path().join(name));
    let status = command
        .status()
        .expect("these tests need openssh-client: make packages");
    assert!(status.success(), "ssh-keygen ended with {status}");
}
