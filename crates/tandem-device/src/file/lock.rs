//! Keeping others away from a device, and finding out who keeps us away.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock, major, minor};
use rustix::io::Errno;

use super::{Access, sysfs};
use crate::DeviceError;

/// A block device kept from the kernel's other users for as long as this lives.
#[derive(Debug)]
pub struct Claim {
    _exclusive: Option<File>,
}

impl Claim {
    pub(super) fn none() -> Claim {
        Claim { _exclusive: None }
    }
}

fn in_use(path: &Path, reason: String) -> DeviceError {
    DeviceError::InUse { path: path.to_path_buf(), reason, locked: false }
}

/// Locks `file` for `access` and refuses it when somebody else uses it.
pub(super) fn protect(
    path: &Path,
    file: &File,
    metadata: &Metadata,
    access: Access,
) -> Result<(), DeviceError> {
    let operation = match access {
        Access::ReadWrite => FlockOperation::NonBlockingLockExclusive,
        Access::ReadOnly => FlockOperation::NonBlockingLockShared,
        Access::Peek => return Ok(()),
    };
    match flock(file, operation) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let (path, reason) = (path.to_path_buf(), lock_holder(metadata));
            return Err(DeviceError::InUse { path, reason, locked: true });
        }
        Err(e) => return Err(DeviceError::from_io(path, "lock", e.into())),
    }
    if metadata.file_type().is_block_device() {
        // Only a probe: a fuseblk mount, later, must be able to claim the device itself.
        drop(claim(path)?);
    } else if access == Access::ReadWrite {
        refuse_looped(path, metadata)?;
    }
    Ok(())
}

/// Opens the block device at `path` exclusively, which the kernel grants to one user only.
pub(super) fn claim(path: &Path) -> Result<Claim, DeviceError> {
    let flags = OFlags::EXCL.bits() as i32;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Claim { _exclusive: Some(file) }),
        Err(e) if Errno::from_io_error(&e) == Some(Errno::BUSY) => {
            Err(in_use(path, kernel_user(path)))
        }
        Err(e) => Err(DeviceError::from_io(path, "claim", e)),
    }
}

/// An image file that a loop device uses may be mounted or written through that.
fn refuse_looped(path: &Path, metadata: &Metadata) -> Result<(), DeviceError> {
    for (name, backing) in sysfs::loops() {
        let same = backing
            .metadata()
            .is_ok_and(|file| (file.dev(), file.ino()) == (metadata.dev(), metadata.ino()));
        if same {
            let reason =
                format!("attached to {name}; use that device, or detach it with losetup -d {name}");
            return Err(in_use(path, reason));
        }
    }
    Ok(())
}

/// Says who holds the flock, from /proc/locks.
fn lock_holder(metadata: &Metadata) -> String {
    let wanted =
        format!("{:02x}:{:02x}:{}", major(metadata.dev()), minor(metadata.dev()), metadata.ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let pid = fields.get(4)?.parse::<u32>().ok()?;
        (fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&wanted.as_str())).then_some(pid)
    });
    match pid {
        Some(pid) => {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let comm = comm.trim();
            let name = if comm.is_empty() { String::new() } else { format!(" ({comm})") };
            format!(
                "locked by process {pid}{name}; if a volume on it is mounted, unmount it with \
                 tandem umount"
            )
        }
        None => "locked by another process; if a volume on it is mounted, unmount it with tandem \
                 umount"
            .to_string(),
    }
}

/// Says what the kernel uses the block device for, as far as the mount table and swaps tell.
fn kernel_user(path: &Path) -> String {
    let rdev = path.metadata().map(|m| m.rdev()).unwrap_or_default();
    let number = format!("{}:{}", major(rdev), minor(rdev));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let dev = fields.nth(2)?;
        let dir = fields.nth(1)?;
        (dev == number).then(|| dir.to_string())
    });
    if let Some(dir) = mounted {
        return format!("mounted on {dir}; unmount it first");
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swapping = swaps.lines().skip(1).any(|line| {
        let file = line.split_whitespace().next().unwrap_or_default();
        Path::new(file)
            .metadata()
            .is_ok_and(|m| m.file_type().is_block_device() && m.rdev() == rdev)
    });
    if swapping {
        return "swap space; switch it off with swapoff first".to_string();
    }
    "the kernel has claimed it (a mount, LVM, RAID, encryption, or a partition of it); unmount or \
     detach that first"
        .to_string()
}
