//! Trees of files: made from a seed, taken from a directory or an archive; packed, unpacked,
//! walked, copied, removed.
//!
//! Everything here is done with plain system calls in the order in which a directory lists its
//! entries, as `find`, `cp` and `rm` do; what was seen is counted ([`Figures`]).

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub mod archive;
mod contents;
pub mod ops;
mod source;
pub mod synthetic;
pub mod walk;

pub use source::Source;
pub use synthetic::Shape;

/// What a tree consists of. Its topmost directory (what it lies in) is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Directories.
    pub directories: u64,
    /// Regular files.
    pub files: u64,
    /// Symbolic links.
    pub links: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Regular files of more than 2,048 bytes.
    pub over_2k: u64,
    /// Components of the longest path.
    pub depth: u64,
}

impl Figures {
    /// The same tree with its regular files truncated to nothing.
    pub fn emptied(self) -> Figures {
        Figures { bytes: 0, over_2k: 0, ..self }
    }

    fn count(&mut self, path: &Path, kind: &Kind) {
        match kind {
            Kind::Directory => self.directories += 1,
            Kind::Link(_) => self.links += 1,
            Kind::File(size) => {
                self.files += 1;
                self.bytes += size;
                self.over_2k += u64::from(*size > 2048);
            }
        }
        self.depth = self.depth.max(path.components().count() as u64);
    }
}

/// What an entry of a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file of so many bytes.
    File(u64),
    /// A symbolic link, and where to.
    Link(PathBuf),
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path, relative to the tree's topmost directory.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// When it was changed, in seconds since 1970.
    pub mtime: u64,
}

/// Is given every entry, a directory before what is in it, and the contents of regular files.
pub type Visitor<'a> = dyn FnMut(&Entry, &mut dyn Read) -> Result<(), TreeError> + 'a;

/// A tree that cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A system call failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// `create`, `read`.
        doing: &'static str,
        /// Of what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is given as a tree is none, or has something that a tree of the lab's may not have.
    #[error("{path}: {reason}")]
    Source {
        /// The directory or archive, or the entry in it.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn io<E: Into<std::io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> TreeError {
    move |source| TreeError::Io { doing, path: path.to_owned(), source: source.into() }
}
