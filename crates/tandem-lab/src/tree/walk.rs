//! Walking a directory in the order in which it lists its entries.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use super::{TreeError, io};

/// The entries of a directory. The directory is closed before they are used, so that a deep tree
/// does not hold a descriptor per level.
///
/// # Errors
/// [`TreeError::Io`].
pub fn entries(dir: &Path) -> Result<Vec<(PathBuf, FileType)>, TreeError> {
    let read = std::fs::read_dir(dir).map_err(io("list", dir))?;
    read.map(|entry| {
        let entry = entry.map_err(io("list", dir))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(io("stat", &path))?;
        Ok((path, kind))
    })
    .collect()
}

/// Gives every entry below `dir` to `f`, a directory before what is in it. Only directory entries
/// are read; `f` takes attributes if it needs them.
///
/// # Errors
/// [`TreeError::Io`], and those of `f`.
pub fn each(
    dir: &Path,
    f: &mut impl FnMut(&Path, FileType) -> Result<(), TreeError>,
) -> Result<(), TreeError> {
    for (path, kind) in entries(dir)? {
        f(&path, kind)?;
        if kind.is_dir() {
            each(&path, f)?;
        }
    }
    Ok(())
}
