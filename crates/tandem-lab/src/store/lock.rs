//! One lab at a time: in a folder, and on a machine, where they would disturb each other's figures.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{StoreError, io_error};

/// The lock's name in a folder.
pub(super) const FILE: &str = "lock";

/// Held as long as it lives; the kernel lets go of it when the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) file: File,
}

/// Not by closing alone: a child between fork and exec still has the file open.
impl Drop for Lock {
    fn drop(&mut self) {
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
        take(&machine_file(), dir, |holder| StoreError::Locked { dir: None, holder, hint })
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
    // Another user's file can be locked, too, if not written.
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let writable = file.is_ok();
    let file = file.or_else(|_| File::open(path)).map_err(io_error("open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if writable => {
            let text = format!("process {} for {}", std::process::id(), dir.display());
            let note = file.set_len(0).and_then(|()| (&file).write_all(text.as_bytes()));
            note.map_err(io_error("write", path))?;
            Ok(Lock { file })
        }
        Ok(()) => Ok(Lock { file }),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(locked(std::fs::read_to_string(path).unwrap_or_default()))
        }
        Err(error) => Err(io_error("lock", path)(io::Error::from(error))),
    }
}
