//! The device that keeps to the rules.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tandem_device::{Counters, Device, DeviceStats};

use super::parse::{EIO, ENXIO};
use super::{Fault, Faults, Request};

const SECTOR: u64 = 512;

/// A device in front of another, with faults. While a rule says *stale*, what writes replace is
/// kept in memory.
pub struct FaultDevice {
    inner: Arc<dyn Device>,
    faults: Arc<Faults>,
    /// Sectors as they were before the last write.
    before: Mutex<BTreeMap<u64, [u8; SECTOR as usize]>>,
    counters: Counters,
}

fn fails<T>(errno: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(errno))
}

fn wait(delay: Option<Duration>) {
    match delay {
        None => {}
        Some(Duration::ZERO) => std::thread::yield_now(),
        Some(delay) => std::thread::sleep(delay),
    }
}

impl FaultDevice {
    /// A device that does what `inner` does, but for `faults`.
    pub fn new(inner: Arc<dyn Device>, faults: Arc<Faults>) -> FaultDevice {
        FaultDevice { inner, faults, before: Mutex::default(), counters: Counters::default() }
    }

    /// What is wrong with it.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    fn judge(&self, request: Request, off: u64, len: u64) -> Option<Fault> {
        let (delay, fault) = self.faults.judge(request, off, len);
        wait(delay);
        fault
    }

    /// Where a request that goes astray ends up.
    fn astray(&self, off: u64, len: u64, by: u64) -> u64 {
        let room = self.size().saturating_sub(len);
        let to = off.saturating_add(by);
        if to <= room { to } else { (to - room - 1).min(room) }
    }

    fn keep(&self, off: u64, len: u64) -> io::Result<()> {
        if !self.faults.remembers() {
            return Ok(());
        }
        let mut before = self.before.lock();
        for n in off / SECTOR..off.saturating_add(len).div_ceil(SECTOR) {
            let mut bytes = [0; SECTOR as usize];
            let there = self.size().saturating_sub(n * SECTOR).min(SECTOR) as usize;
            self.inner.read_at(&mut bytes[..there], n * SECTOR)?;
            before.insert(n, bytes);
        }
        Ok(())
    }

    fn grow_old(&self, buf: &mut [u8], off: u64) {
        let end = off + buf.len() as u64;
        for (&n, bytes) in self.before.lock().range(off / SECTOR..end.div_ceil(SECTOR)) {
            let (from, to) = (off.max(n * SECTOR), end.min((n + 1) * SECTOR));
            let part = &bytes[(from - n * SECTOR) as usize..(to - n * SECTOR) as usize];
            buf[(from - off) as usize..(to - off) as usize].copy_from_slice(part);
        }
    }

    fn put(&self, bytes: &[u8], off: u64) -> io::Result<()> {
        self.keep(off, bytes.len() as u64)?;
        self.inner.write_at(bytes, off)
    }
}

impl Device for FaultDevice {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        let len = buf.len() as u64;
        self.counters.read(len);
        match self.judge(Request::Read, off, len) {
            None | Some(Fault::Lost | Fault::Delay(_)) => self.inner.read_at(buf, off),
            Some(Fault::Error(errno)) => fails(errno),
            Some(Fault::Gone) => fails(ENXIO),
            Some(Fault::Short(bytes)) => {
                let part = bytes.unwrap_or(len / 2).min(len) as usize;
                self.inner.read_at(&mut buf[..part], off)?;
                fails(EIO)
            }
            Some(Fault::Misdirect(by)) => self.inner.read_at(buf, self.astray(off, len, by)),
            Some(Fault::Flip(bits)) => {
                self.inner.read_at(buf, off)?;
                self.faults.flip(buf, bits);
                Ok(())
            }
            Some(Fault::Stale) => {
                self.inner.read_at(buf, off)?;
                self.grow_old(buf, off);
                Ok(())
            }
        }
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        let len = buf.len() as u64;
        self.counters.write(len);
        match self.judge(Request::Write, off, len) {
            None | Some(Fault::Stale | Fault::Delay(_)) => self.put(buf, off),
            Some(Fault::Lost) => Ok(()),
            Some(Fault::Error(errno)) => fails(errno),
            Some(Fault::Gone) => fails(ENXIO),
            Some(Fault::Short(bytes)) => {
                self.put(&buf[..bytes.unwrap_or(len / 2).min(len) as usize], off)?;
                fails(EIO)
            }
            Some(Fault::Misdirect(by)) => self.put(buf, self.astray(off, len, by)),
            Some(Fault::Flip(bits)) => {
                let mut bytes = buf.to_vec();
                self.faults.flip(&mut bytes, bits);
                self.put(&bytes, off)
            }
        }
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        self.write_at(&bytes, off)
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        match self.judge(Request::Flush, 0, 0) {
            Some(Fault::Lost) => Ok(()),
            Some(Fault::Error(errno)) => fails(errno),
            Some(Fault::Gone) => fails(ENXIO),
            _ => self.inner.flush(),
        }
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.counters.discard(len);
        match self.judge(Request::Discard, off, len) {
            Some(Fault::Lost) => Ok(()),
            Some(Fault::Error(errno)) => fails(errno),
            Some(Fault::Gone) => fails(ENXIO),
            Some(Fault::Short(bytes)) => {
                self.inner.discard(off, bytes.unwrap_or(len / 2).min(len))?;
                fails(EIO)
            }
            Some(Fault::Misdirect(by)) => self.inner.discard(self.astray(off, len, by), len),
            None | Some(Fault::Stale | Fault::Flip(_) | Fault::Delay(_)) => {
                self.inner.discard(off, len)
            }
        }
    }

    fn read_only(&self) -> bool {
        self.inner.read_only()
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}
