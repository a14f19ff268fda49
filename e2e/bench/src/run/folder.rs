//! Where a run keeps what its programs read and write.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;

/// The run's files: every user may read them, and they go with this value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("proxyunwrap-bench-{}", process::id()));
        make(&path)?;
        Ok(Self(path))
    }

    pub(super) fn of(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.join(name);
        make(&path)?;
        Ok(path)
    }
}

fn make(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("could not make {}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
