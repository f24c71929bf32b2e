//! The tree that is copied in.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::place::Place;
use super::{program, say, text};
use crate::units::{bytes, grouped};

const LINUX: &str = "/usr/src/linux-source-6.1.tar.xz";
/// About what the Linux source takes, unpacked.
const LINUX_BYTES: u64 = 1_600 << 20;

/// A directory of real files.
pub struct Tree {
    /// Where it is.
    pub dir: PathBuf,
    /// Files, directories and others.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entries, size) = (grouped(self.entries), bytes(self.bytes));
        write!(f, "{}, {entries} entries, {size}", self.dir.display())
    }
}

impl Tree {
    /// The tree asked for; else the Linux source, unpacked in `place`; else something that every
    /// machine has.
    pub fn find(wanted: Option<&Path>, place: &Place) -> Result<Tree> {
        if let Some(dir) = wanted {
            let dir = dir.canonicalize().with_context(|| dir.display().to_string())?;
            return Tree::measured(dir);
        }
        if Path::new(LINUX).exists() && program::find("xz").is_some() {
            place.needs(LINUX_BYTES)?;
            say(&format!("unpacking {LINUX}"));
            let dir = place.make_dir("tree")?;
            program::output("tar", &["-C", &text(&dir), "-xJf", LINUX])?;
            return Tree::measured(dir);
        }
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for dir in [PathBuf::from("/usr/include"), home.join(".cargo/registry/src")] {
            if let Ok(tree) = Tree::measured(dir) {
                if tree.entries > 100 {
                    return Ok(tree);
                }
            }
        }
        bail!("no tree to copy: give one with --tree DIR")
    }

    fn measured(dir: PathBuf) -> Result<Tree> {
        let (mut entries, mut size) = (0, 0);
        walk(&dir, &mut |_, kind| {
            entries += 1;
            if let Kind::File(bytes) = kind {
                size += bytes;
            }
            Ok(())
        })?;
        Ok(Tree { dir, entries, bytes: size })
    }

    /// Bytes for the metadata device: plenty.
    pub fn meta_size(&self) -> u64 {
        (self.entries * 2048).next_multiple_of(64 << 20) + (192 << 20)
    }

    /// Bytes for the data device: plenty.
    pub fn data_size(&self) -> u64 {
        let blocks = self.bytes + self.entries * 4096;
        (blocks + blocks / 4).next_multiple_of(256 << 20) + (512 << 20)
    }
}

/// What is met on a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory, before what is in it.
    Dir,
    /// A file of so many bytes.
    File(u64),
    /// A symbolic link.
    Symlink,
    /// A device, pipe or socket.
    Other,
}

/// Visits everything below `dir`, in the order of names.
pub fn walk(dir: &Path, visit: &mut dyn FnMut(&Path, Kind) -> Result<()>) -> Result<()> {
    let mut pending = vec![dir.to_path_buf()];
    while let Some(dir) = pending.pop() {
        let within = || format!("read {}", dir.display());
        let mut entries = std::fs::read_dir(&dir)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .with_context(within)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in &entries {
            let metadata = entry.metadata().with_context(within)?;
            let kind = if metadata.is_dir() {
                Kind::Dir
            } else if metadata.is_file() {
                Kind::File(metadata.len())
            } else if metadata.is_symlink() {
                Kind::Symlink
            } else {
                Kind::Other
            };
            visit(&entry.path(), kind)?;
            if kind == Kind::Dir {
                pending.push(entry.path());
            }
        }
    }
    Ok(())
}
