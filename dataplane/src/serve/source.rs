//! Where the configuration comes from, and whether it has changed since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::args::Serve;
use crate::config::compat::{self, BadSubnet, Flags};
use crate::config::{self, Config};

/// A file, or go-mmproxy's flags with their file of subnets.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    /// The text that was read last, good or bad.
    text: String,
}

#[derive(Debug)]
enum Kind {
    File(PathBuf),
    Flags { flags: Flags, subnets: PathBuf },
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a file nor a list of peers was named.
    #[error(
        "nobody to believe: give --config FILE, or --allowed-subnets FILE with a network a line \
         (an absent list would let anybody name any client)"
    )]
    Nobody,
    /// A file that cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// A configuration that is refused.
    #[error("{of}")]
    Config {
        /// Which file.
        of: String,
        /// What is wrong with it.
        source: config::Error,
    },
    /// A list of subnets with something else in it.
    #[error("{}", path.display())]
    Subnets {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: BadSubnet,
    },
}

impl Source {
    /// Picks the source that the command line names.
    ///
    /// # Errors
    /// [`Error::Nobody`].
    pub fn new(args: &Serve) -> Result<Self, Error> {
        let kind = match (&args.config, &args.allowed_subnets) {
            (Some(path), _) => Kind::File(path.clone()),
            (None, Some(subnets)) => Kind::Flags {
                flags: args.flags(),
                subnets: subnets.clone(),
            },
            (None, None) => return Err(Error::Nobody),
        };
        Ok(Self {
            kind,
            text: String::new(),
        })
    }

    /// Reads and checks.
    ///
    /// # Errors
    /// What is wrong, with the file it is in.
    pub fn load(&mut self) -> Result<Config, Error> {
        let path = self.path().to_owned();
        self.text = read(&path)?;
        let refused = |source| Error::Config {
            of: path.display().to_string(),
            source,
        };
        match &self.kind {
            Kind::File(_) => Config::parse(&self.text).map_err(refused),
            Kind::Flags { flags, .. } => {
                let file = compat::file(flags, &self.text).map_err(|source| Error::Subnets {
                    path: path.clone(),
                    source,
                })?;
                Config::new(file).map_err(refused)
            }
        }
    }

    /// Whether the file reads differently from the last time. Content counts, not time: Kubernetes
    /// swaps a symbolic link. A file that cannot be read has not changed.
    pub fn has_changed(&self) -> bool {
        read(self.path()).is_ok_and(|text| text != self.text)
    }

    /// The file that may change.
    pub fn path(&self) -> &Path {
        match &self.kind {
            Kind::File(path) | Kind::Flags { subnets: path, .. } => path,
        }
    }
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}
