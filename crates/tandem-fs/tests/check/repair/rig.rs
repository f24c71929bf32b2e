//! A volume that is repaired: on devices that keep what is written apart from what was there, in
//! order, so that a crash at any write can be looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tandem_device::{Device, DeviceStats};
use tandem_fs::check::{CheckOptions, RepairReport, repair};
use tandem_fs::{Error, MountOptions, Volume};

use crate::rig::{Numbers, Rig, Steady};

const PAGE: u64 = 512;

/// What was done to the devices.
#[derive(Clone)]
enum Event {
    Write { meta: bool, offset: u64, bytes: Vec<u8> },
    Flush { meta: bool },
}

/// A device over another one, which it leaves as it is.
pub struct Overlay {
    base: Arc<dyn Device>,
    meta: bool,
    pages: Mutex<BTreeMap<u64, Vec<u8>>>,
    trace: Arc<Mutex<Vec<Event>>>,
}

impl Overlay {
    fn put(&self, bytes: &[u8], offset: u64) {
        let mut pages = self.pages.lock();
        let mut at = 0;
        while at < bytes.len() {
            let off = offset + at as u64;
            let (page, within) = (off / PAGE, (off % PAGE) as usize);
            let n = (PAGE as usize - within).min(bytes.len() - at);
            let page = pages.entry(page).or_insert_with(|| {
                let mut old = vec![0; PAGE as usize];
                self.base.read_at(&mut old, page * PAGE).unwrap();
                old
            });
            page[within..within + n].copy_from_slice(&bytes[at..at + n]);
            at += n;
        }
    }
}

impl Device for Overlay {
    fn name(&self) -> &str {
        self.base.name()
    }

    fn size(&self) -> u64 {
        self.base.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> std::io::Result<()> {
        self.base.read_at(buf, off)?;
        let end = off + buf.len() as u64;
        for (&page, bytes) in self.pages.lock().range(off / PAGE..end.div_ceil(PAGE)) {
            let (from, to) = ((page * PAGE).max(off), ((page + 1) * PAGE).min(end));
            buf[(from - off) as usize..(to - off) as usize].copy_from_slice(
                &bytes[(from - page * PAGE) as usize..(to - page * PAGE) as usize],
            );
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.put(bytes, offset);
        let write = Event::Write { meta: self.meta, offset, bytes: bytes.to_vec() };
        self.trace.lock().push(write);
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        self.trace.lock().push(Event::Flush { meta: self.meta });
        Ok(())
    }

    fn discard(&self, _: u64, _: u64) -> std::io::Result<()> {
        Ok(())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.base.stats()
    }
}

/// A volume over a rig's devices.
pub struct Bench {
    env: Arc<Steady>,
    pub meta: Arc<Overlay>,
    pub data: Option<Arc<Overlay>>,
    trace: Arc<Mutex<Vec<Event>>>,
}

impl Bench {
    pub fn new(rig: &Rig) -> Bench {
        let trace = Arc::new(Mutex::new(Vec::new()));
        let over = |base: Arc<dyn Device>, meta| {
            let trace = Arc::clone(&trace);
            Arc::new(Overlay { base, meta, pages: Mutex::default(), trace })
        };
        let data = rig.data.as_ref().map(|data| over(Arc::clone(data) as _, false));
        let meta = over(Arc::clone(&rig.meta) as _, true);
        Bench { env: Arc::clone(&rig.env), meta, data, trace }
    }

    fn devices(&self) -> (Arc<dyn Device>, Option<Arc<dyn Device>>) {
        (Arc::clone(&self.meta) as _, self.data.clone().map(|data| data as _))
    }

    /// Repairs it.
    pub fn try_repair(&self, memory: u64) -> Result<RepairReport, Error> {
        let (meta, data) = self.devices();
        let options = CheckOptions { threads: 1, memory };
        repair(meta, data, &options, Arc::clone(&self.env) as _, &|_| {}, &mut |_| true)
    }

    /// Repairs it; a check finds nothing wrong then, and another repair nothing to do.
    #[track_caller]
    pub fn repair(&self) -> RepairReport {
        let report = self.try_repair(64 << 20).unwrap();
        assert!(report.is_sound(), "{report:#?}");
        let again = self.try_repair(64 << 20).unwrap();
        assert!(!again.made && again.is_sound(), "{again:#?}");
        report
    }

    /// Plans a repair, and does not make it.
    pub fn plan(&self) -> Result<RepairReport, Error> {
        let (meta, data) = self.devices();
        let options = CheckOptions { threads: 1, memory: 64 << 20 };
        repair(meta, data, &options, Arc::clone(&self.env) as _, &|_| {}, &mut |_| false)
    }

    pub fn open(&self) -> Arc<Volume> {
        let (meta, data) = self.devices();
        let opts = MountOptions { background: false, ..MountOptions::default() };
        Volume::open(meta, data, opts, Arc::clone(&self.env) as _).unwrap()
    }

    /// How many writes there were.
    pub fn writes(&self) -> usize {
        self.trace.lock().iter().filter(|e| matches!(e, Event::Write { .. })).count()
    }

    /// The rig's volume after a crash behind the first `writes` writes: what was not flushed is
    /// there or not, as the numbers say.
    pub fn crashed(&self, rig: &Rig, writes: usize, numbers: &mut Numbers) -> Bench {
        let crashed = Bench::new(rig);
        let mut pending: Vec<(bool, u64, Vec<u8>)> = Vec::new();
        let put = |(meta, offset, bytes): &(bool, u64, Vec<u8>)| {
            let data = crashed.data.as_ref().filter(|_| !meta);
            data.unwrap_or(&crashed.meta).put(bytes, *offset);
        };
        let mut left = writes;
        for event in self.trace.lock().iter() {
            match event {
                Event::Write { .. } if left == 0 => break,
                Event::Write { meta, offset, bytes } => {
                    left -= 1;
                    pending.push((*meta, *offset, bytes.clone()));
                }
                Event::Flush { meta } => {
                    // One device holds both.
                    let flushed = |m: bool| m == *meta || crashed.data.is_none();
                    pending.iter().filter(|write| flushed(write.0)).for_each(put);
                    pending.retain(|write| !flushed(write.0));
                }
            }
        }
        pending.iter().filter(|_| numbers.next(2) == 0).for_each(put);
        crashed
    }
}
