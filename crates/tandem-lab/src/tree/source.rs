//! Where a tree comes from.

use std::collections::HashSet;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

use super::{Entry, Kind, Shape, TreeError, Visitor, archive, io, walk};

/// A tree that there is, or that can be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Made from a seed.
    Synthetic(Shape),
    /// A directory.
    Directory(PathBuf),
    /// A tar archive, plain or compressed with gzip, bzip2, xz or zstd.
    Archive(PathBuf),
}

impl Source {
    /// The directory or archive of this path.
    ///
    /// # Errors
    /// [`TreeError`] if there is neither.
    pub fn at(path: &Path) -> Result<Source, TreeError> {
        let meta = std::fs::metadata(path).map_err(io("stat", path))?;
        Ok(match meta.is_dir() {
            true => Source::Directory(path.to_owned()),
            false => Source::Archive(path.to_owned()),
        })
    }

    /// What tells it from others: for a directory or archive the path, size and time of change.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn identity(&self) -> Result<String, TreeError> {
        match self {
            Source::Synthetic(shape) => Ok(format!("{shape:?}")),
            Source::Directory(path) | Source::Archive(path) => {
                let meta = std::fs::metadata(path).map_err(io("stat", path))?;
                let (path, size) = (path.display(), meta.size());
                // Seconds: a guest may see the host's files with no finer times.
                Ok(format!("{path} {size} {}", meta.mtime()))
            }
        }
    }

    /// Gives every entry to `f`, a directory before what is in it.
    ///
    /// # Errors
    /// [`TreeError`], and those of `f`.
    pub fn each(&self, f: &mut Visitor<'_>) -> Result<(), TreeError> {
        match self {
            Source::Synthetic(shape) => shape.each(f),
            Source::Archive(path) => archive::each(path, f),
            Source::Directory(path) => {
                let top = path.file_name().map_or(PathBuf::from("tree"), PathBuf::from);
                directory(path, &top, f)
            }
        }
    }

    /// The same with a share of the tree, above 0 to 1: of the directories, chosen by their path's
    /// hash, each with all the files that lie directly in it. Directories above those are kept.
    ///
    /// # Errors
    /// As of [`Source::each`].
    pub fn share(&self, share: f64, f: &mut Visitor<'_>) -> Result<(), TreeError> {
        if share >= 1.0 {
            return self.each(f);
        }
        let mut known: HashSet<PathBuf> = HashSet::new();
        self.each(&mut |entry, contents| {
            let directory = entry.kind == Kind::Directory;
            let parent = entry.path.parent().unwrap_or(Path::new(""));
            let dir = if directory { &entry.path } else { parent };
            if !chosen(dir, share) {
                return Ok(());
            }
            let mut above: Vec<&Path> = dir.ancestors().collect();
            above.retain(|path| !path.as_os_str().is_empty() && !known.contains(*path));
            for path in above.into_iter().rev() {
                known.insert(path.to_owned());
                let made =
                    Entry { path: path.to_owned(), kind: Kind::Directory, mode: 0o755, ..*entry };
                f(&made, &mut std::io::empty())?;
            }
            if directory { Ok(()) } else { f(entry, contents) }
        })
    }
}

fn chosen(dir: &Path, share: f64) -> bool {
    let mut hasher = SipHasher13::new();
    hasher.write(dir.as_os_str().as_bytes());
    (hasher.finish() as f64) < share * u64::MAX as f64
}

/// A directory's entries in the order of names, so that the same directory gives the same archive
/// wherever it lies.
fn directory(dir: &Path, name: &Path, f: &mut Visitor<'_>) -> Result<(), TreeError> {
    let entry = |path: &Path, name: &Path, kind| {
        let meta = std::fs::symlink_metadata(path).map_err(io("stat", path))?;
        let mtime = u64::try_from(meta.mtime()).unwrap_or(0);
        Ok(Entry { path: name.to_owned(), kind, mode: meta.mode() & 0o7777, mtime })
    };
    f(&entry(dir, name, Kind::Directory)?, &mut std::io::empty())?;
    let mut entries = walk::entries(dir)?;
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in entries {
        let name = name.join(path.file_name().unwrap_or_default());
        if kind.is_dir() {
            directory(&path, &name, f)?;
        } else if kind.is_symlink() {
            let to = std::fs::read_link(&path).map_err(io("read link", &path))?;
            f(&entry(&path, &name, Kind::Link(to))?, &mut std::io::empty())?;
        } else if kind.is_file() {
            let file = File::open(&path).map_err(io("open", &path))?;
            let size = file.metadata().map_err(io("stat", &path))?.len();
            f(&entry(&path, &name, Kind::File(size))?, &mut file.take(size))?;
        } else {
            let reason = "neither a file, a directory nor a symbolic link".to_owned();
            return Err(TreeError::Source { path, reason });
        }
    }
    Ok(())
}
