//! A device over bytes that many share: what is written is kept apart, page by page. It counts
//! what is asked of it, so that what never ends is found without a clock.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tandem_device::{Counters, Device, DeviceStats};
use tandem_fs::{Env, Time};

const PAGE: usize = 4096;

/// Requests to devices and clock readings (one at each try of an operation) that one step may take.
pub const WORK_MAX: u64 = 200_000;

/// Counts work, and is the time: no run depends on a clock.
#[derive(Default)]
pub struct Work(AtomicU64);

impl Work {
    fn spend(&self) -> u64 {
        let spent = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(spent < WORK_MAX, "does not end: {spent} requests and operations");
        spent
    }

    /// Begins the next step; returns what the last one took.
    pub fn restart(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Env for Work {
    fn now(&self) -> Time {
        Time { secs: 1_700_000_000 + (self.spend() >> 10) as i64, nanos: 5_000_000 }
    }

    fn random(&self) -> u64 {
        self.spend().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn monotonic(&self) -> u64 {
        self.spend() * 1000
    }
}

/// The device.
pub struct Overlay {
    name: &'static str,
    base: Arc<[u8]>,
    size: u64,
    pages: Mutex<FxHashMap<u64, Box<[u8; PAGE]>>>,
    frozen: AtomicBool,
    work: Arc<Work>,
    counters: Counters,
}

impl Overlay {
    /// A device with these bytes.
    pub fn new(name: &'static str, base: Arc<[u8]>, work: Arc<Work>) -> Overlay {
        let size = base.len() as u64;
        let (pages, frozen, counters) = Default::default();
        Overlay { name, base, size, pages, frozen, work, counters }
    }

    /// Another device with the same bytes.
    pub fn fork(&self) -> Overlay {
        Overlay {
            name: self.name,
            base: Arc::clone(&self.base),
            size: self.size,
            pages: Mutex::new(self.pages.lock().clone()),
            frozen: false.into(),
            work: Arc::clone(&self.work),
            counters: Counters::default(),
        }
    }

    /// Cuts the device.
    pub fn truncate(&mut self, size: u64) {
        self.size = self.size.min(size);
    }

    /// From now on nothing may be written (or it may again).
    pub fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::Relaxed);
    }

    /// The bytes at a place, as far as there are any.
    pub fn peek(&self, off: u64, len: usize) -> Vec<u8> {
        let end = off.saturating_add(len as u64).min(self.size);
        let mut buf = vec![0; end.saturating_sub(off) as usize];
        self.copy_out(&mut buf, off);
        buf
    }

    /// Puts bytes at a place, as far as they fit.
    pub fn poke(&self, bytes: &[u8], off: u64) {
        let fit = self.size.saturating_sub(off).min(bytes.len() as u64);
        self.copy_in(&bytes[..fit as usize], off);
    }

    fn copy_out(&self, mut buf: &mut [u8], mut off: u64) {
        let pages = self.pages.lock();
        while !buf.is_empty() {
            let (page, at) = (off / PAGE as u64, off as usize % PAGE);
            let (part, rest) = buf.split_at_mut(buf.len().min(PAGE - at));
            match pages.get(&page) {
                Some(bytes) => part.copy_from_slice(&bytes[at..at + part.len()]),
                None => part.copy_from_slice(&self.base[off as usize..off as usize + part.len()]),
            }
            off += part.len() as u64;
            buf = rest;
        }
    }

    fn copy_in(&self, mut buf: &[u8], mut off: u64) {
        let mut pages = self.pages.lock();
        while !buf.is_empty() {
            let (page, at) = (off / PAGE as u64, off as usize % PAGE);
            let (part, rest) = buf.split_at(buf.len().min(PAGE - at));
            let bytes = pages.entry(page).or_insert_with(|| {
                let mut bytes = Box::new([0; PAGE]);
                let from = page as usize * PAGE;
                let there = &self.base[from..self.base.len().min(from + PAGE)];
                bytes[..there.len()].copy_from_slice(there);
                bytes
            });
            bytes[at..at + part.len()].copy_from_slice(part);
            off += part.len() as u64;
            buf = rest;
        }
    }

    fn bound(&self, off: u64, len: usize) -> Result<()> {
        self.work.spend();
        let fits = off.checked_add(len as u64).is_some_and(|end| end <= self.size);
        if fits { Ok(()) } else { Err(Error::from(ErrorKind::InvalidInput)) }
    }

    fn may_write(&self) {
        assert!(!self.frozen.load(Ordering::Relaxed), "{} is written to", self.name);
    }
}

impl Device for Overlay {
    fn name(&self) -> &str {
        self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> Result<()> {
        self.bound(off, buf.len())?;
        self.copy_out(buf, off);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], off: u64) -> Result<()> {
        self.may_write();
        self.bound(off, buf.len())?;
        self.copy_in(buf, off);
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.work.spend();
        Ok(())
    }

    fn discard(&self, off: u64, len: u64) -> Result<()> {
        self.may_write();
        self.bound(off, usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}
