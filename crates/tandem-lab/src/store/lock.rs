//! One lab at a time: in a folder, and on a machine, where they would disturb each other's figures.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{StoreError, io_error};

/// The lock's name in a folder.
pub(super) const FILE: &str = "lock";

/// Held as long as it lives; the kernel lets go of it when the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) file: File,
    /// The file, if it was made for this and goes again.
    made: Option<PathBuf>,
}

/// Not by closing alone: a child between fork and exec still has the file open.
impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            let _ = std::fs::remove_file(path);
        }
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    pub fn folder(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(FILE);
        let hint = "; its results can be read meanwhile";
        take(&path, dir, |holder| StoreError::Locked { dir: Some(dir.to_owned()), holder, hint })
    }

    pub fn machine(dir: &Path) -> Result<Lock, StoreError> {
        let hint = ", and each would disturb what the other measures; wait for it, or say --beside";
        let locked = |holder| StoreError::Locked { dir: None, holder, hint };
        let mut lock = take(&machine_file(), dir, locked)?;
        lock.keep();
        Ok(lock)
    }

    /// Its file stays when this goes.
    pub fn keep(&mut self) {
        self.made = None;
    }
}

fn machine_file() -> PathBuf {
    let dir = Path::new("/run/lock");
    let dir = if dir.is_dir() { dir.to_owned() } else { std::env::temp_dir() };
    dir.join("tandem-lab")
}

fn take(
    path: &Path,
    dir: &Path,
    locked: impl FnOnce(String) -> StoreError,
) -> Result<Lock, StoreError> {
    loop {
        let (file, writable, made) = open(path).map_err(io_error("open", path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(locked(std::fs::read_to_string(path).unwrap_or_default()));
            }
            Err(error) => return Err(io_error("lock", path)(io::Error::from(error))),
        }
        // Another lab that did not begin may have removed it meanwhile.
        if !is_at(&file, path).map_err(io_error("read", path))? {
            continue;
        }
        let lock = Lock { file, made: made.then(|| path.to_owned()) };
        if writable {
            let text = format!("process {} for {}", std::process::id(), dir.display());
            let note = lock.file.set_len(0).and_then(|()| (&lock.file).write_all(text.as_bytes()));
            note.map_err(io_error("write", path))?;
        }
        return Ok(lock);
    }
}

/// The file, whether it can be written (another user's can be locked, too), and whether it is new.
fn open(path: &Path) -> io::Result<(File, bool, bool)> {
    let write = |new: bool| OpenOptions::new().create_new(new).write(true).open(path);
    match write(true) {
        Ok(file) => Ok((file, true, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match write(false) {
            Ok(file) => Ok((file, true, false)),
            Err(_) => Ok((File::open(path)?, false, false)),
        },
        Err(error) => Err(error),
    }
}

/// Is this the file of that name?
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(now) => Ok((now.dev(), now.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nobody else sees locks nothing.
    #[test]
    fn a_file_that_was_removed_is_not_at_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let (old, _, made) = open(&path).unwrap();
        assert!(made && is_at(&old, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&old, &path).unwrap());
        // The old one is open still, so the new one has another number.
        let (new, _, made) = open(&path).unwrap();
        assert!(made && !is_at(&old, &path).unwrap() && is_at(&new, &path).unwrap());
    }
}
