//! Notices at once that something changed where the configuration file lies.
//!
//! Only a hint: the file is looked at now and then all the same, because inotify does not see what
//! others change on a network file system, nor a file behind a link that leads elsewhere.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::unistd::read;
use tokio::io::unix::AsyncFd;

use crate::sys;

/// A file that was written, or put in the place of another: Kubernetes renames a link, editors a
/// file.
const CHANGES: AddWatchFlags = AddWatchFlags::IN_CLOSE_WRITE.union(AddWatchFlags::IN_MOVED_TO);

/// A watch on a folder; without one nothing is noticed.
pub(super) struct Notice(Option<AsyncFd<OwnedFd>>);

impl Notice {
    /// Watches the folder of a file.
    pub(super) fn of(file: &Path) -> Self {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let watch = watch(folder);
        if let Err(error) = &watch {
            tracing::debug!(%error, "the configuration is looked at now and then only");
        }
        Self(watch.ok())
    }

    /// Waits until something has changed there. Cancel-safe: what was not taken comes again.
    pub(super) async fn changed(&self) {
        let Some(watch) = &self.0 else {
            return pending().await;
        };
        loop {
            let Ok(mut ready) = watch.readable().await else {
                return pending().await;
            };
            // What it was does not matter: the file is read anyway.
            match read(watch.get_ref(), &mut [0; 4096]) {
                Err(Errno::EAGAIN) => ready.clear_ready(),
                Err(_) => return pending().await,
                Ok(_) => return,
            }
        }
    }
}

fn watch(folder: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
    inotify.add_watch(folder, CHANGES)?;
    sys::in_runtime(inotify.into())
}
