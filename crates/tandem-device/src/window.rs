//! A range of a device as a device of its own.

use std::io::{self, IoSlice};
use std::sync::Arc;

use crate::{Counters, Device, DeviceStats, check_range, total_len};

/// A sub-range of a device, so that one device can serve as both areas.
///
/// It counts for itself; the device beneath counts everything once more.
pub struct Window {
    device: Arc<dyn Device>,
    offset: u64,
    len: u64,
    counters: Counters,
}

impl Window {
    /// `len` bytes of `device`, starting at byte `offset`; fails when they are not there.
    pub fn new(device: Arc<dyn Device>, offset: u64, len: u64) -> io::Result<Window> {
        check_range(offset, len, device.size())?;
        Ok(Window { device, offset, len, counters: Counters::default() })
    }
}

impl Device for Window {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        check_range(off, buf.len() as u64, self.len)?;
        self.counters.read(buf.len() as u64);
        self.device.read_at(buf, self.offset + off)
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        check_range(off, buf.len() as u64, self.len)?;
        self.counters.write(buf.len() as u64);
        self.device.write_at(buf, self.offset + off)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let len = total_len(bufs);
        check_range(off, len, self.len)?;
        self.counters.write(len);
        self.device.write_vectored_at(bufs, self.offset + off)
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        self.device.flush()
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        check_range(off, len, self.len)?;
        self.counters.discard(len);
        self.device.discard(self.offset + off, len)
    }

    fn read_only(&self) -> bool {
        self.device.read_only()
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDevice;

    #[test]
    fn stays_within_its_range() {
        let whole: Arc<dyn Device> = Arc::new(MemoryDevice::new("m", 1 << 20));
        let window = Window::new(whole.clone(), 4096, 8192).unwrap();
        assert_eq!(window.size(), 8192);
        window.write_at(b"abc", 8189).unwrap();
        assert!(window.write_at(b"abcd", 8189).is_err());
        assert!(window.read_at(&mut [0; 2], u64::MAX).is_err());
        let mut buf = [0; 3];
        whole.read_at(&mut buf, 4096 + 8189).unwrap();
        assert_eq!(&buf, b"abc");
        assert_eq!(window.stats().write_bytes, 3);
        assert_eq!(whole.stats().reads, 1);
        assert!(Window::new(whole, 4096, 1 << 20).is_err());
    }
}
