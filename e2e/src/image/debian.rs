//! An image of Debian packages that are installed here: their files, and the libraries these need.
//!
//! This is how real balancers and apps get into a cluster without a registry. Documentation stays
//! out; configuration files come as they are on this machine, and pods mount their own over them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use super::{Architecture, Image, Layer, elf};

/// Why packages could not be gathered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// dpkg does not know a package.
    #[error("package {0} is not installed; run `make packages`")]
    NotInstalled(String),
    /// A program that we ask cannot be started.
    #[error("could not run {0}")]
    Run(&'static str, #[source] io::Error),
    /// A library that something needs is not there.
    #[error("the library {0} is not installed")]
    NoLibrary(String),
    /// A file is listed, but cannot be read.
    #[error("could not read {0}")]
    Read(String, #[source] io::Error),
    /// Nothing to run.
    #[error("there is no program in {0}")]
    NoProgram(String),
}

/// Of no use in a container.
const DOCUMENTATION: [&str; 6] = [
    "/usr/share/bash-completion/",
    "/usr/share/bug/",
    "/usr/share/doc/",
    "/usr/share/lintian/",
    "/usr/share/locale/",
    "/usr/share/man/",
];

/// Debian keeps these folders below /usr; programs and libraries are named by both paths.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Makes an image of these packages that starts `entrypoint`.
///
/// # Errors
/// A package that is not installed or brings no program, a library that is not there, a file that
/// cannot be read.
pub fn image(name: &str, packages: &[String], entrypoint: &str) -> Result<Image, Error> {
    let contents = gather(packages)?;
    let title = packages.join(", ");
    let label = |key: &str, value| (format!("org.opencontainers.image.{key}"), value);
    Ok(Image {
        name: name.to_owned(),
        architecture: contents.architecture,
        labels: BTreeMap::from([
            label("title", title),
            label("description", "Debian packages, for tests".to_owned()),
        ]),
        entrypoint: vec![entrypoint.to_owned()],
        stop_signal: None,
        layer: contents.layer,
    })
}

struct Contents {
    layer: Layer,
    architecture: Architecture,
}

fn gather(packages: &[String]) -> Result<Contents, Error> {
    let mut layer = Layer::default();
    for folder in MERGED {
        let link = Path::new(folder);
        layer.add_link(link, &Path::new("usr").join(folder));
    }
    let mut programs = Vec::new();
    let mut architecture = None;
    for package in packages {
        for path in files(package)? {
            if let Some(found) = add(&mut layer, &path)? {
                architecture = Some(found);
                programs.push(path);
            }
        }
    }
    let architecture = architecture.ok_or_else(|| Error::NoProgram(packages.join(", ")))?;
    for library in libraries(&programs)? {
        add(&mut layer, &library)?;
    }
    Ok(Contents {
        layer,
        architecture,
    })
}

/// Adds a file of this machine under its own path, a link as what it leads to; answers the
/// processor of a program or a library.
fn add(layer: &mut Layer, path: &Path) -> Result<Option<Architecture>, Error> {
    let read = |error| Error::Read(path.display().to_string(), error);
    let metadata = fs::metadata(path).map_err(read)?;
    let content = fs::read(path).map_err(read)?;
    let architecture = elf::architecture(&content).ok();
    let executable = metadata.permissions().mode() & 0o111 != 0;
    layer.add_file(&below_usr(path), content, executable);
    Ok(architecture)
}

/// The same path below /usr, for folders that are merged.
fn below_usr(path: &Path) -> PathBuf {
    let path = path.strip_prefix("/").unwrap_or(path);
    let merged = MERGED.iter().any(|folder| path.starts_with(folder));
    if merged {
        Path::new("usr").join(path)
    } else {
        path.to_owned()
    }
}

/// What a package has put on this machine, documentation left out.
fn files(package: &str) -> Result<Vec<PathBuf>, Error> {
    let listed = Command::new("dpkg-query")
        .args(["--listfiles", package])
        .output();
    let listed = listed.map_err(|error| Error::Run("dpkg-query", error))?;
    if !listed.status.success() {
        return Err(Error::NotInstalled(package.to_owned()));
    }
    let listed = String::from_utf8_lossy(&listed.stdout);
    let paths = listed
        .lines()
        .filter(|path| is_wanted(path))
        .map(PathBuf::from);
    Ok(paths.filter(|path| path.is_file()).collect())
}

fn is_wanted(path: &str) -> bool {
    !DOCUMENTATION.iter().any(|folder| path.starts_with(folder))
}

fn libraries(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, Error> {
    if programs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let said = Command::new("ldd").args(programs).output();
    let said = said.map_err(|error| Error::Run("ldd", error))?;
    parse_ldd(&String::from_utf8_lossy(&said.stdout))
}

/// The paths in ldd's answer: `libc.so.6 => /lib/…/libc.so.6 (0x…)`, and the dynamic linker's own
/// line, `/lib64/ld-linux-x86-64.so.2 (0x…)`. The kernel's vdso has no path.
fn parse_ldd(text: &str) -> Result<BTreeSet<PathBuf>, Error> {
    let mut paths = BTreeSet::new();
    // Names of the programs asked about stand at the margin and end with a colon.
    for line in text
        .lines()
        .filter(|line| line.starts_with(char::is_whitespace))
    {
        let (name, found) = line.split_once("=>").unwrap_or((line, line));
        if found.trim() == "not found" {
            return Err(Error::NoLibrary(name.trim().to_owned()));
        }
        let path = found.split_whitespace().next().unwrap_or_default();
        if path.starts_with('/') {
            paths.insert(PathBuf::from(path));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ldds_lines_of_every_kind_are_read() {
        let text = "/usr/sbin/nginx:\n\tlinux-vdso.so.1 (0x00007f)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\
                    /usr/bin/static:\n\tstatically linked\n\tnot a dynamic executable\n";
        let want = [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        let got = parse_ldd(text).unwrap();
        assert_eq!(got, want.iter().map(PathBuf::from).collect());
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = parse_ldd("\tlibssl.so.3 => not found\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the library libssl.so.3 is not installed"
        );
    }

    #[test]
    fn both_names_of_a_merged_folder_are_one_place() {
        assert_eq!(
            below_usr(Path::new("/lib64/ld.so")),
            Path::new("usr/lib64/ld.so")
        );
        assert_eq!(
            below_usr(Path::new("/usr/lib64/ld.so")),
            Path::new("usr/lib64/ld.so")
        );
        assert_eq!(
            below_usr(Path::new("/etc/nginx/x")),
            Path::new("etc/nginx/x")
        );
        assert_eq!(below_usr(Path::new("/library/x")), Path::new("library/x"));
    }

    #[test]
    fn a_package_that_is_not_installed_is_named_with_the_fix() {
        let packages = ["proxyunwrap-no-such-package".to_owned()];
        let error = image("localhost/none:dev", &packages, "/none").unwrap_err();
        let want = "package proxyunwrap-no-such-package is not installed; run `make packages`";
        assert_eq!(error.to_string(), want);
    }

    #[test]
    fn an_installed_package_brings_its_programs_and_the_dynamic_linker() {
        let contents = gather(&["coreutils".to_owned()]).unwrap();
        let layer = contents.layer.to_tar().unwrap();
        let mut archive = tar::Archive::new(layer.as_slice());
        let paths: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert!(paths.contains(&"usr/bin/cat".to_owned()));
        assert!(paths.iter().any(|path| path.contains("/ld-linux-")));
        assert!(!paths.iter().any(|path| path.starts_with("usr/share/doc/")));
    }
}
