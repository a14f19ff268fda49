//! Programs that a test starts: their output is kept for the failure message, and they end with it.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, process, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::namespace::Namespace;
use super::wait;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of one test, removed with this value.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("proxyunwrap-{}-{number}", process::id()));
        fs::create_dir_all(&path).expect("the temporary folder is writable");
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::write(&path, text).expect("the temporary folder is writable");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A program in the background; killed when this value goes.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    _folder: Folder,
}

impl Process {
    /// Starts `command`, its output in a file.
    #[track_caller]
    pub fn start(name: &str, command: &mut Command) -> Self {
        let folder = Folder::new();
        let log = folder.path().join("output");
        let out = File::create(&log).expect("the temporary folder is writable");
        let err = out.try_clone().expect("a descriptor is free");
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = child.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self {
            name: name.to_owned(),
            child,
            log,
            _folder: folder,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).expect("a pid is an i32");
        kill(Pid::from_raw(pid), signal).expect("it is our own child");
    }

    /// The exit code once it has ended; None for a signal.
    #[track_caller]
    pub fn ended(&mut self, limit: Duration) -> Option<i32> {
        let what = format!("{} ends", self.name);
        let status = wait::until(&what, limit, || {
            self.child.try_wait().expect("it is our child")
        });
        status.code()
    }

    /// Waits until something listens on the TCP address inside `namespace`.
    #[track_caller]
    pub fn listens(&mut self, namespace: &Namespace, address: SocketAddr) {
        let port = format!("sport = :{}", address.port());
        let what = format!("{} listens on {address}", self.name);
        wait::until(&what, Duration::from_secs(20), || {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                panic!("{} ended with {status}:\n{}", self.name, self.output());
            }
            let found = namespace
                .command("ss")
                .args(["-Hltn", &port])
                .output()
                .ok()?;
            (!found.stdout.is_empty()).then_some(())
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- output of {}\n{}", self.name, self.output());
        }
    }
}
