//! Image files and block devices.

mod create;
mod identity;
mod lock;
mod sysfs;

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::{Counters, Device, DeviceError, DeviceStats, check_range, read_only_error, total_len};

pub use identity::Identity;
pub use lock::Claim;

/// Discards are rounded inward to this many bytes, or to the device's block when that is larger.
const DISCARD_UNIT: u64 = 4096;
/// Buffers per system call; Linux takes 1024.
const MAX_VECTORS: usize = 1024;

/// What a device is opened for, and so what it is protected against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing, by nobody else at the same time.
    ReadWrite,
    /// Reading, while others may read too but nobody may write.
    ReadOnly,
    /// Reading without any protection, to look at a device that is in use: what is read may be
    /// half written.
    Peek,
}

/// An image file or block device, opened buffered.
///
/// While it is open, no other process can open it for writing through this crate (an flock(2)
/// lock); for block devices, see also [`FileDevice::claim`].
#[derive(Debug)]
pub struct FileDevice {
    name: String,
    path: PathBuf,
    file: File,
    size: u64,
    access: Access,
    block: bool,
    discard_unit: u64,
    cannot_discard: AtomicBool,
    identity: Identity,
    counters: Counters,
}

impl FileDevice {
    /// Opens the image file or block device at `path`.
    ///
    /// Refuses what is mounted, claimed by the kernel, or locked by another process, unless
    /// `access` is [`Access::Peek`].
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<FileDevice, DeviceError> {
        let path = path.as_ref();
        // The kind is looked at first: opening a FIFO would wait, opening a tape rewinds it.
        let before = path.metadata().map_err(|e| DeviceError::from_io(path, "stat", e))?;
        refuse_other_kinds(path, &before)?;
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(access == Access::ReadWrite)
            .custom_flags(rustix::fs::OFlags::NOCTTY.bits() as i32)
            .open(path)
            .map_err(|e| DeviceError::from_io(path, "open", e))?;
        Self::from_file(path, file, access)
    }

    fn from_file(path: &Path, file: File, access: Access) -> Result<FileDevice, DeviceError> {
        let failed = |action| move |e| DeviceError::from_io(path, action, e);
        let metadata = file.metadata().map_err(failed("stat"))?;
        refuse_other_kinds(path, &metadata)?;
        let block = metadata.file_type().is_block_device();
        let identity = Identity::of(&metadata);
        if block && access == Access::ReadWrite && sysfs::read_only(metadata.rdev()) {
            return Err(DeviceError::ReadOnlyMedia { path: path.to_path_buf() });
        }
        lock::protect(path, &file, &metadata, access)?;
        let (size, unit) = if block {
            let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
                .map_err(|e| failed("find out its size")(e.into()))?;
            let sector = rustix::fs::ioctl_blksszget(&file).unwrap_or(512);
            (size, u64::from(sector))
        } else {
            (metadata.len(), metadata.blksize().clamp(1, 1 << 20))
        };
        Ok(FileDevice {
            name: path.display().to_string(),
            path: path.to_path_buf(),
            file,
            size,
            access,
            block,
            discard_unit: unit.max(DISCARD_UNIT),
            cannot_discard: AtomicBool::new(false),
            identity,
            counters: Counters::default(),
        })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which device this is, whatever path leads to it.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Keeps the kernel from reading ahead on this device: every request brings what it asks for
    /// and no more. For a metadata device, whose reader knows better what will be wanted next.
    pub fn read_as_asked(&self) {
        // A hint: without it more is read than is needed, and nothing else changes.
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::Random);
    }

    /// Whether it is a block device, not an image file.
    pub fn is_block_device(&self) -> bool {
        self.block
    }

    /// Claims a block device from the kernel, so that nothing can be mounted from it, swapped on
    /// it or built of it, until the claim is dropped; does nothing for an image file.
    ///
    /// A mount of type `fuseblk` claims its device itself, so M must not be claimed meanwhile.
    pub fn claim(&self) -> Result<Claim, DeviceError> {
        if self.block { lock::claim(&self.path) } else { Ok(Claim::none()) }
    }

    fn writable(&self) -> io::Result<()> {
        if self.access == Access::ReadWrite { Ok(()) } else { Err(read_only_error()) }
    }

    fn discard_range(&self, off: u64, len: u64) -> Result<(), Errno> {
        if self.block {
            sysfs::discard(&self.file, off, len)
        } else {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&self.file, mode, off, len)
        }
    }
}

impl Drop for FileDevice {
    /// Unlocks in so many words: closing alone would leave the lock to a child process that has
    /// been forked but does not run its own program yet.
    fn drop(&mut self) {
        if self.access != Access::Peek {
            let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
        }
    }
}

fn refuse_other_kinds(path: &Path, metadata: &std::fs::Metadata) -> Result<(), DeviceError> {
    let kind = metadata.file_type();
    let what = if kind.is_file() || kind.is_block_device() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "something else"
    };
    Err(DeviceError::NotADevice { path: path.to_path_buf(), what })
}

impl Device for FileDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        check_range(off, buf.len() as u64, self.size)?;
        self.counters.read(buf.len() as u64);
        self.file.read_exact_at(buf, off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.writable()?;
        check_range(off, buf.len() as u64, self.size)?;
        self.counters.write(buf.len() as u64);
        self.file.write_all_at(buf, off)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        self.writable()?;
        let total = total_len(bufs);
        check_range(off, total, self.size)?;
        self.counters.write(total);
        let mut left: Vec<IoSlice<'_>> =
            bufs.iter().filter(|buf| !buf.is_empty()).copied().collect();
        let (mut left, mut at) = (left.as_mut_slice(), off);
        while !left.is_empty() {
            let batch = &left[..left.len().min(MAX_VECTORS)];
            match rustix::io::pwritev(&self.file, batch, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(done) => {
                    IoSlice::advance_slices(&mut left, done);
                    at += done as u64;
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        self.file.sync_data()
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.writable()?;
        check_range(off, len, self.size)?;
        if self.cannot_discard.load(Ordering::Relaxed) {
            return Ok(());
        }
        let start = off.next_multiple_of(self.discard_unit);
        let end = (off + len) / self.discard_unit * self.discard_unit;
        if start >= end {
            return Ok(());
        }
        loop {
            match self.discard_range(start, end - start) {
                Ok(()) => {
                    self.counters.discard(end - start);
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY | Errno::INVAL) => {
                    self.cannot_discard.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                // Pages of the range are being read or written just now: this discard is lost.
                Err(Errno::BUSY) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn drop_cached(&self, off: u64, len: u64) {
        // The kernel leaves alone what is not a whole page.
        let (from, to) = (off & !4095, (off + len).next_multiple_of(4096));
        let (off, len) = (from, std::num::NonZeroU64::new(to - from));
        let _ = rustix::fs::fadvise(&self.file, off, len, rustix::fs::Advice::DontNeed);
    }

    fn read_only(&self) -> bool {
        self.access != Access::ReadWrite
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}

#[cfg(test)]
mod tests;
