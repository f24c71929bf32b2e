//! What the kernel knows of block devices: /sys, and the one ioctl that has no safe wrapper.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

use rustix::fs::{major, minor};
use rustix::io::Errno;
use rustix::ioctl;

const SECTOR: u64 = 512;

fn entry(rdev: u64, name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}/{name}", major(rdev), minor(rdev)))
}

fn number(rdev: u64, name: &str) -> Option<u64> {
    std::fs::read_to_string(entry(rdev, name)).ok()?.trim().parse().ok()
}

/// Whether the kernel says that the block device cannot be written.
pub(super) fn read_only(rdev: u64) -> bool {
    number(rdev, "ro") == Some(1)
}

/// The disk that a partition is part of and the bytes of it; none when it is no partition.
pub(super) fn partition(rdev: u64) -> Option<(u64, Range<u64>)> {
    number(rdev, "partition")?;
    let start = number(rdev, "start")?.checked_mul(SECTOR)?;
    let end = start.checked_add(number(rdev, "size")?.checked_mul(SECTOR)?)?;
    let disk = std::fs::read_to_string(entry(rdev, "../dev")).ok()?;
    let (major, minor) = disk.trim().split_once(':')?;
    Some((rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?), start..end))
}

/// The file behind a loop device.
pub(super) fn loop_backing(rdev: u64) -> Option<PathBuf> {
    let path = std::fs::read_to_string(entry(rdev, "loop/backing_file")).ok()?;
    Some(PathBuf::from(path.trim_end_matches('\n')))
}

/// The loop devices that exist, with their files.
pub(super) fn loops() -> Vec<(String, PathBuf)> {
    let Ok(dir) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    dir.flatten()
        .filter_map(|disk| {
            let backing = std::fs::read_to_string(disk.path().join("loop/backing_file")).ok()?;
            let name = format!("/dev/{}", disk.file_name().to_string_lossy());
            Some((name, PathBuf::from(backing.trim_end_matches('\n'))))
        })
        .collect()
}

/// Discards `len` bytes at `off` of a block device; both multiples of its logical block.
pub(super) fn discard(file: &File, off: u64, len: u64) -> Result<(), Errno> {
    const BLKDISCARD: ioctl::Opcode = ioctl::opcode::none(0x12, 119);
    #[expect(
        unsafe_code,
        reason = "BLKDISCARD reads two u64 from the pointer that Setter passes and nothing else"
    )]
    unsafe {
        ioctl::ioctl(file, ioctl::Setter::<BLKDISCARD, [u64; 2]>::new([off, len]))
    }
}
