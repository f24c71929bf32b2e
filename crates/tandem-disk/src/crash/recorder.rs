//! Devices that are written down.

use std::io::{self, IoSlice};
use std::sync::Arc;

use parking_lot::Mutex;
use tandem_device::{Counters, Device, DeviceStats};

use super::{Change, Event, History, Store};

struct Inner {
    now: Vec<Store>,
    history: History,
}

/// Devices in memory with one history. Copies are the same devices.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
    devices: Arc<[Arc<Disk>]>,
}

impl Recorder {
    /// Devices with the given contents, which last.
    pub fn new(base: Vec<Store>) -> Recorder {
        let sizes: Vec<u64> = base.iter().map(Store::size).collect();
        let history = History { base: base.clone(), events: Vec::new() };
        let inner = Arc::new(Mutex::new(Inner { now: base, history }));
        let disk = |(n, size)| {
            let (name, inner) = (format!("disk {n}"), Arc::clone(&inner));
            Arc::new(Disk { name, n, size, inner, counters: Counters::default() })
        };
        let devices = sizes.into_iter().enumerate().map(disk).collect();
        Recorder { inner, devices }
    }

    /// One of the devices.
    ///
    /// # Panics
    /// When there are not so many.
    pub fn device(&self, n: usize) -> Arc<dyn Device> {
        Arc::clone(&self.devices[n]) as _
    }

    /// How many requests the history has.
    pub fn len(&self) -> usize {
        self.inner.lock().history.events.len()
    }

    /// Whether nothing was asked yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the devices hold.
    pub fn now(&self) -> Vec<Store> {
        self.inner.lock().now.clone()
    }

    /// The history so far.
    pub fn history(&self) -> History {
        self.inner.lock().history.clone()
    }

    /// Cuts off what a power failure from now on cannot undo, so that the history stays short.
    pub fn forget(&self) {
        let mut inner = self.inner.lock();
        let (base, events) = {
            let mut walk = inner.history.walk();
            walk.go_to(usize::MAX);
            (walk.durable().to_vec(), walk.pending().cloned().collect())
        };
        inner.history = History { base, events };
    }
}

struct Disk {
    name: String,
    n: usize,
    size: u64,
    inner: Arc<Mutex<Inner>>,
    counters: Counters,
}

impl Disk {
    fn check(&self, off: u64, len: u64) -> io::Result<()> {
        match off.checked_add(len) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn record(&self, change: Change) {
        let mut inner = self.inner.lock();
        change.apply(&mut inner.now[self.n]);
        inner.history.events.push(Event { device: self.n, change });
    }
}

impl Device for Disk {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        self.check(off, buf.len() as u64)?;
        self.counters.read(buf.len() as u64);
        self.inner.lock().now[self.n].read(buf, off);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.check(off, buf.len() as u64)?;
        self.counters.write(buf.len() as u64);
        self.record(Change::Write(off, buf.into()));
        Ok(())
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        self.write_at(&bytes, off)
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        self.record(Change::Flush);
        Ok(())
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.check(off, len)?;
        self.counters.discard(len);
        self.record(Change::Discard(off, len));
        Ok(())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}
