//! A device whose failures are counted.

use std::io::{self, IoSlice};
use std::sync::Arc;

use tandem_device::{Device, DeviceStats};

use crate::sync::atomic::{AtomicU64, Ordering};

/// Requests that a device has failed since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DeviceErrors {
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
    /// Flushes.
    pub flush: u64,
}

/// The counters behind [`DeviceErrors`].
#[derive(Default)]
pub(crate) struct ErrorCounters {
    read: AtomicU64,
    write: AtomicU64,
    flush: AtomicU64,
}

impl ErrorCounters {
    /// As they stand.
    pub fn snapshot(&self) -> DeviceErrors {
        let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
        DeviceErrors {
            read: count(&self.read),
            write: count(&self.write),
            flush: count(&self.flush),
        }
    }
}

/// A device, and what it has failed to do. A failed discard is no failure.
struct Watched {
    device: Arc<dyn Device>,
    errors: Arc<ErrorCounters>,
}

/// The device, watched, and its counters.
pub(crate) fn watch(device: Arc<dyn Device>) -> (Arc<dyn Device>, Arc<ErrorCounters>) {
    let errors = Arc::new(ErrorCounters::default());
    (Arc::new(Watched { device, errors: Arc::clone(&errors) }), errors)
}

fn note<T>(result: io::Result<T>, counter: &AtomicU64) -> io::Result<T> {
    if result.is_err() {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    result
}

impl Device for Watched {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn size(&self) -> u64 {
        self.device.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        note(self.device.read_at(buf, off), &self.errors.read)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        note(self.device.write_at(buf, off), &self.errors.write)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        note(self.device.write_vectored_at(bufs, off), &self.errors.write)
    }

    fn flush(&self) -> io::Result<()> {
        note(self.device.flush(), &self.errors.flush)
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.device.discard(off, len)
    }

    fn drop_cached(&self, off: u64, len: u64) {
        self.device.drop_cached(off, len);
    }

    fn read_only(&self) -> bool {
        self.device.read_only()
    }

    fn stats(&self) -> DeviceStats {
        self.device.stats()
    }
}
