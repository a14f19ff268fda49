//! The files of an image.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

/// A file system, owned by root, as old as Unix time. Paths are relative to its root.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    Folder,
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

impl Layer {
    /// Adds a file and the folders that lead to it; a file that is there is replaced.
    pub fn add_file(&mut self, path: &Path, content: Vec<u8>, executable: bool) {
        let mode = if executable { 0o755 } else { 0o644 };
        self.add(path, Entry::File { content, mode });
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, path: &Path, target: &Path) {
        self.add(path, Entry::Link(target.to_owned()));
    }

    fn add(&mut self, path: &Path, entry: Entry) {
        let path = path.strip_prefix("/").unwrap_or(path);
        // The first ancestor is the path itself, the last one the root, which has no entry.
        for folder in path.ancestors().skip(1) {
            if !folder.as_os_str().is_empty() {
                let entry = self.entries.entry(folder.to_owned());
                entry.or_insert(Entry::Folder);
            }
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// The layer as a tar archive.
    ///
    /// # Errors
    /// A path or link that tar cannot hold.
    pub fn to_tar(&self) -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            match entry {
                Entry::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(0o755);
                    header.set_size(0);
                    tar.append_data(&mut header, path, io::empty())?;
                }
                Entry::File { content, mode } => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(*mode);
                    header.set_size(content.len() as u64);
                    tar.append_data(&mut header, path, content.as_slice())?;
                }
                Entry::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    tar.append_link(&mut header, path, target)?;
                }
            }
        }
        tar.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(layer: &Layer) -> Vec<String> {
        let bytes = layer.to_tar().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let owner = (
                header.uid().unwrap(),
                header.gid().unwrap(),
                header.mtime().unwrap(),
            );
            assert_eq!(owner, (0, 0, 0));
            format!(
                "{:o} {}",
                header.mode().unwrap(),
                entry.path().unwrap().display()
            )
        });
        entries.collect()
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_everything_is_sorted() {
        let mut layer = Layer::default();
        layer.add_file(Path::new("/usr/sbin/nginx"), vec![1], true);
        layer.add_file(Path::new("/etc/nginx/mime.types"), vec![2], false);
        layer.add_link(Path::new("/sbin"), Path::new("usr/sbin"));
        let want = [
            "755 etc",
            "755 etc/nginx",
            "644 etc/nginx/mime.types",
            "777 sbin",
            "755 usr",
            "755 usr/sbin",
            "755 usr/sbin/nginx",
        ];
        assert_eq!(listed(&layer), want);
    }

    #[test]
    fn a_path_longer_than_tars_field_is_kept() {
        let long = format!("usr/share/{}/file", "x".repeat(200));
        let mut layer = Layer::default();
        layer.add_file(Path::new(&long), Vec::new(), false);
        assert!(listed(&layer).contains(&format!("644 {long}")));
    }
}
