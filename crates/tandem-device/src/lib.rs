//! Where bytes are kept: an image file, a block device, or memory.
//!
//! This layer knows sizes, offsets, durability and who else uses a device; it knows nothing of
//! what the bytes mean, except for [`probe`], which recognizes other people's formats so that
//! nobody overwrites them by mistake. It touches the operating system and no other Tandem crate.

mod error;
mod file;
mod memory;
mod priority;
mod probe;
mod stats;
mod window;

use std::io::{self, IoSlice};
use std::sync::Arc;

pub use error::DeviceError;
pub use file::{Access, Claim, FileDevice, Identity};
pub use memory::MemoryDevice;
pub use priority::{real_time, real_time_alone, yield_to_all};
pub use probe::{Signature, probe};
pub use stats::{Counters, DeviceStats};
pub use window::Window;

/// A fixed-size array of bytes that outlives the process (or pretends to).
///
/// Offsets and lengths are in bytes and need no alignment. Reads and writes are exact: they
/// transfer everything or fail. Errors carry the kind only; the caller adds [`Device::name`].
pub trait Device: Send + Sync {
    /// What messages call this device: its path.
    fn name(&self) -> &str;

    /// Size in bytes, as it was when the device was opened.
    fn size(&self) -> u64;

    /// Fills `buf` from byte `off`. Bytes never written, or discarded, read as anything.
    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()>;

    /// Writes all of `buf` at byte `off`; durable only after [`Device::flush`].
    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()>;

    /// Writes the buffers one after the other, starting at byte `off`.
    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let mut at = off;
        for buf in bufs {
            self.write_at(buf, at)?;
            at += buf.len() as u64;
        }
        Ok(())
    }

    /// Returns when everything written before the call is durable.
    fn flush(&self) -> io::Result<()>;

    /// Tells the device that `len` bytes at `off` are not needed any more.
    ///
    /// Best effort: the range may shrink to what the device can discard, and a device that
    /// cannot discard at all says `Ok`.
    fn discard(&self, off: u64, len: u64) -> io::Result<()>;

    /// Whoever reads these bytes next reads the medium, as far as the system can be made to: what
    /// is kept of them in memory, and is not dirty, is given up. A hint.
    fn drop_cached(&self, _off: u64, _len: u64) {}

    /// Whether writes are refused.
    fn read_only(&self) -> bool;

    /// What has been done so far.
    fn stats(&self) -> DeviceStats;
}

impl<D: Device + ?Sized> Device for Arc<D> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        (**self).read_at(buf, off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        (**self).write_at(buf, off)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        (**self).write_vectored_at(bufs, off)
    }

    fn flush(&self) -> io::Result<()> {
        (**self).flush()
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        (**self).discard(off, len)
    }

    fn drop_cached(&self, off: u64, len: u64) {
        (**self).drop_cached(off, len)
    }

    fn read_only(&self) -> bool {
        (**self).read_only()
    }

    fn stats(&self) -> DeviceStats {
        (**self).stats()
    }
}

/// Fails unless `len` bytes at `off` lie within `size`.
fn check_range(off: u64, len: u64, size: u64) -> io::Result<()> {
    match off.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{len} bytes at offset {off} reach past the end ({size} bytes)"),
        )),
    }
}

fn total_len(bufs: &[IoSlice<'_>]) -> u64 {
    bufs.iter().map(|buf| buf.len() as u64).sum()
}

fn read_only_error() -> io::Error {
    io::Error::from(io::ErrorKind::ReadOnlyFilesystem)
}
