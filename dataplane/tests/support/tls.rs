//! A small certificate authority, made by openssl for one test.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::process::Folder;

/// An authority, a server certificate for `shop.example`, a client certificate for `anna`.
pub struct Certificates {
    folder: Folder,
}

impl Certificates {
    #[track_caller]
    pub fn new() -> Self {
        let certificates = Self {
            folder: Folder::new(),
        };
        certificates.openssl("req -x509 -subj /CN=test-authority -keyout ca.key -out ca.pem");
        certificates.issue("server", "shop.example");
        certificates.issue("client", "anna");
        certificates
    }

    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Certificate and key in one file, as HAProxy wants them.
    pub fn server(&self) -> PathBuf {
        self.folder.path().join("server.pem")
    }

    /// Certificate and key in one file, as curl takes them.
    pub fn client(&self) -> PathBuf {
        self.folder.path().join("client.pem")
    }

    #[track_caller]
    fn issue(&self, name: &str, common_name: &str) {
        self.openssl(&format!(
            "req -x509 -CA ca.pem -CAkey ca.key -subj /CN={common_name} \
             -addext subjectAltName=DNS:{common_name} -addext basicConstraints=critical,CA:FALSE \
             -keyout {name}.key -out {name}.crt"
        ));
        let both =
            self.folder.read(&format!("{name}.crt")) + &self.folder.read(&format!("{name}.key"));
        fs::write(self.folder.path().join(format!("{name}.pem")), both).expect("it is our folder");
    }

    #[track_caller]
    fn openssl(&self, arguments: &str) {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .args([
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-noenc",
                "-days",
                "2",
            ])
            .current_dir(self.folder.path())
            .output();
        let output = output.expect("these tests need openssl: make packages");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
