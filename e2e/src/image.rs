//! Container images without a container engine.
//!
//! An [`Image`] is one layer and a description; [`Image::to_archive`] writes it as an OCI layout in
//! a tar archive, which containerd, kind, docker and podman load. The same input gives the same
//! bytes: entries are sorted, owners and times are fixed, nothing is compressed.
//!
//! A layer is a static program alone ([`program`]), or files of Debian packages with the libraries
//! they need ([`debian`]).

mod archive;
pub mod debian;
mod elf;
mod layer;
pub mod program;

use std::collections::BTreeMap;

pub use self::elf::{Architecture, NotStatic};
pub use self::layer::Layer;

/// User and group of every container unless its pod says otherwise; nobody's on any node.
pub const USER: &str = "65532:65532";

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct Image {
    /// Name and tag, as in `localhost/echo:dev`.
    pub name: String,
    /// Which processors its programs are for.
    pub architecture: Architecture,
    /// The program and its first arguments.
    pub entrypoint: Vec<String>,
    /// The signal that asks the program to end; SIGTERM when it is not given.
    pub stop_signal: Option<String>,
    /// What people may want to know about it, by the keys of the OCI specification.
    pub labels: BTreeMap<String, String>,
    /// Its files.
    pub layer: Layer,
}

/// The labels that every image of ours has; the Dockerfile says the same.
pub fn labels(title: &str) -> BTreeMap<String, String> {
    let label = |key: &str, value: &str| {
        let key = format!("org.opencontainers.image.{key}");
        (key, value.to_owned())
    };
    BTreeMap::from([
        label("title", title),
        label("version", env!("CARGO_PKG_VERSION")),
        label("source", env!("CARGO_PKG_REPOSITORY")),
        label("licenses", env!("CARGO_PKG_LICENSE")),
    ])
}
