//! An image that is one static program and nothing else: no shell, no libraries, no users.

use std::path::Path;
use std::{fs, io};

use super::{Image, Layer, NotStatic, elf, labels};

/// Why an image was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("could not read the program {0}")]
    Read(String, #[source] io::Error),
    /// The file is of the wrong kind.
    #[error("{0} {1}")]
    Kind(String, NotStatic),
    /// The budget of the image is spent.
    #[error("{path} has {size} bytes, and its image may have {limit}")]
    TooBig {
        /// The program.
        path: String,
        /// Its size.
        size: u64,
        /// What is allowed.
        limit: u64,
    },
}

/// Makes an image called `name` whose only file is this program; `limit` is in bytes.
///
/// # Errors
/// The program cannot be read, needs a dynamic linker, or is too big.
pub fn image(name: &str, path: &Path, limit: u64) -> Result<Image, Error> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Error::Read(shown.clone(), error))?;
    let architecture = elf::check_static(&bytes).map_err(|why| Error::Kind(shown.clone(), why))?;
    let size = bytes.len() as u64;
    if size > limit {
        return Err(Error::TooBig {
            path: shown,
            size,
            limit,
        });
    }
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let entrypoint = format!("/{title}");
    let mut layer = Layer::default();
    layer.add_file(Path::new(&entrypoint), bytes, true);
    Ok(Image {
        name: name.to_owned(),
        architecture,
        labels: labels(&title),
        entrypoint: vec![entrypoint],
        stop_signal: None,
        layer,
    })
}
