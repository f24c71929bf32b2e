//! mount(2) and umount2(2).

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use super::Unmount;
use crate::error::{DoorError, Result};
use crate::options::{Checks, DoorOptions};

pub(super) fn mount(
    device: &OwnedFd,
    dir: &Path,
    options: &DoorOptions,
    checks: Checks,
) -> Result<()> {
    let text = |s: String| {
        CString::new(s).map_err(|_| DoorError::mount(dir, "a NUL in an option's value"))
    };
    let (source, kind) = match &options.fuseblk {
        Some(block) => (block.display().to_string(), "fuseblk"),
        None => (options.fsname.clone(), "fuse"),
    };
    let fstype = text(format!("{kind}.{}", options.subtype))?;
    let data = text(data(device, dir, options, checks)?)?;
    rustix::mount::mount(&*source, dir, &*fstype, flags(options), &*data)
        .map_err(|e| DoorError::mount(dir, reason(e, options)))
}

fn data(device: &OwnedFd, dir: &Path, options: &DoorOptions, checks: Checks) -> Result<String> {
    let mode =
        std::fs::metadata(dir).map_err(|e| DoorError::mount_point(dir, e.to_string()))?.mode();
    let mut data = format!(
        "fd={},rootmode={:o},user_id={},group_id={}",
        device.as_raw_fd(),
        mode & libc::S_IFMT,
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if checks == Checks::Kernel {
        data += ",default_permissions";
    }
    if options.allow_other {
        data += ",allow_other";
    }
    if options.fuseblk.is_some() {
        data += ",blksize=4096";
    }
    Ok(data)
}

fn flags(options: &DoorOptions) -> MountFlags {
    let f = &options.flags;
    [
        (options.read_only, MountFlags::RDONLY),
        (f.nosuid, MountFlags::NOSUID),
        (f.nodev, MountFlags::NODEV),
        (f.noexec, MountFlags::NOEXEC),
        (f.noatime, MountFlags::NOATIME),
        (f.nodiratime, MountFlags::NODIRATIME),
        (f.strictatime, MountFlags::STRICTATIME),
        (f.sync, MountFlags::SYNCHRONOUS),
        (f.dirsync, MountFlags::DIRSYNC),
    ]
    .into_iter()
    .filter(|(wanted, _)| *wanted)
    .fold(MountFlags::empty(), |all, (_, flag)| all | flag)
}

fn reason(e: Errno, options: &DoorOptions) -> String {
    match (e, &options.fuseblk) {
        (Errno::BUSY, Some(block)) => format!(
            "{} is in use: mounted, or claimed by another program (lsblk, fuser -v tell)",
            block.display()
        ),
        (Errno::NODEV, Some(_)) => "the kernel has no fuseblk".into(),
        (Errno::NODEV, None) => "the kernel has no FUSE (modprobe fuse)".into(),
        (Errno::PERM, _) => "not permitted here; mount as root of the first user namespace, or \
                             as an ordinary user through fusermount3"
            .into(),
        (e, _) => std::io::Error::from(e).to_string(),
    }
}

pub(super) fn unmount(dir: &Path, how: Unmount) -> Result<()> {
    let flags = match how {
        Unmount::Polite => UnmountFlags::empty(),
        Unmount::Lazy => UnmountFlags::DETACH,
        Unmount::Force => UnmountFlags::FORCE | UnmountFlags::DETACH,
    };
    rustix::mount::unmount(dir, flags | UnmountFlags::NOFOLLOW).map_err(|e| match e {
        Errno::BUSY => DoorError::Busy(dir.to_path_buf()),
        Errno::INVAL => DoorError::NotMounted(dir.to_path_buf()),
        e => DoorError::Unmount {
            dir: dir.to_path_buf(),
            reason: std::io::Error::from(e).to_string(),
        },
    })
}
