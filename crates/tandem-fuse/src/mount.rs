//! Mounting and unmounting: as root with mount(2), as anybody else with `fusermount3`.

mod helper;
mod kernel;
mod table;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::error::{DoorError, Result};
use crate::options::{Checks, DoorOptions};
use crate::transport::classic;

/// A mount that was made: the connection and where it is.
pub(crate) struct Mounted {
    pub(crate) device: OwnedFd,
    pub(crate) dir: PathBuf,
}

/// Mounts on `dir`. The kernel's first request is then waiting.
pub(crate) fn attach(dir: &Path, options: &DoorOptions, checks: Checks) -> Result<Mounted> {
    let dir = dir
        .canonicalize()
        .map_err(|e| DoorError::mount_point(dir, format!("{e}; the directory must exist")))?;
    if !dir.is_dir() {
        return Err(DoorError::mount_point(
            &dir,
            "not a directory; a volume needs one to mount on",
        ));
    }
    let device = if privileged() {
        let device = classic::open_device()?;
        kernel::mount(&device, &dir, options, checks)?;
        device
    } else {
        helper::mount(&dir, options, checks)?
    };
    Ok(Mounted { device, dir })
}

/// How to unmount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmount {
    /// Unless somebody uses it.
    Polite,
    /// Out of sight at once, for good when nobody uses it any more.
    Lazy,
    /// Whatever is under way fails. As root only.
    Force,
}

/// Unmounts what is mounted on `dir`, if it is a Tandem volume.
pub fn unmount(dir: &Path, how: Unmount) -> Result<()> {
    // A mount whose daemon is gone cannot be resolved further than its name.
    let dir = table::resolve(dir);
    match table::find(&dir) {
        Some(entry) if entry.is_ours() => {}
        Some(entry) => {
            let reason = format!("mounted there is {} of type {}", entry.source, entry.fstype);
            return Err(DoorError::Unmount { dir, reason });
        }
        None => return Err(DoorError::NotMounted(dir)),
    }
    detach(&dir, how)
}

/// Unmounts without asking what it is.
pub(crate) fn detach(dir: &Path, how: Unmount) -> Result<()> {
    if privileged() { kernel::unmount(dir, how) } else { helper::unmount(dir, how) }
}

/// Gives the mount on `dir` what only sysfs can give it, and returns its device number, by which
/// it can be told from others.
pub(crate) fn settle(dir: &Path, options: &DoorOptions) -> String {
    let Some(entry) = table::find(dir) else { return String::new() };
    table::tune(&entry, options);
    entry.device
}

/// Whether the mount that one sees on `dir` is the one with this device number.
pub(crate) fn is_mounted(dir: &Path, device: &str) -> bool {
    table::find(dir).is_some_and(|entry| entry.device == device)
}

/// The source (fsname) of the Tandem volume mounted on `dir`, as given when it was mounted.
pub fn mounted_source(dir: &Path) -> Option<String> {
    table::find(&table::resolve(dir)).filter(table::Entry::is_ours).map(|entry| entry.source)
}

fn privileged() -> bool {
    rustix::process::geteuid().is_root()
}
