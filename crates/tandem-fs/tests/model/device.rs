//! A pair of devices that can lose power: what was written since the last flush may be there
//! afterwards or not, sector by sector and independently on both. What was never written, or was
//! discarded, reads as garbage.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tandem_device::{Counters, Device, DeviceStats};

use super::env::{Rng, mix};

const CHUNK: usize = 8192;
const SECTOR: u64 = 512;
const GARBAGE: u8 = 0xa7;

/// Sparse bytes, cheap to copy.
#[derive(Clone, Default)]
struct Store {
    chunks: BTreeMap<u64, Arc<Vec<u8>>>,
}

impl Store {
    fn read(&self, buf: &mut [u8], off: u64) {
        self.parts(off, buf.len(), |index, at, from, to| match self.chunks.get(&index) {
            Some(chunk) => buf[from..to].copy_from_slice(&chunk[at..at + to - from]),
            None => buf[from..to].fill(GARBAGE),
        });
    }

    fn parts(&self, off: u64, len: usize, mut f: impl FnMut(u64, usize, usize, usize)) {
        let mut done = 0;
        while done < len {
            let (index, at) = ((off + done as u64) / CHUNK as u64, (off as usize + done) % CHUNK);
            let to = len.min(done + CHUNK - at);
            f(index, at, done, to);
            done = to;
        }
    }

    fn write(&mut self, data: &[u8], off: u64) {
        let mut done = 0;
        while done < data.len() {
            let (index, at) = ((off + done as u64) / CHUNK as u64, (off as usize + done) % CHUNK);
            let to = data.len().min(done + CHUNK - at);
            let chunk = self.chunks.entry(index).or_insert_with(|| Arc::new(vec![GARBAGE; CHUNK]));
            Arc::make_mut(chunk)[at..at + to - done].copy_from_slice(&data[done..to]);
            done = to;
        }
    }

    fn discard(&mut self, off: u64, len: u64) {
        let (first, end) = (off.div_ceil(CHUNK as u64), (off + len) / CHUNK as u64);
        if first >= end {
            self.write(&vec![GARBAGE; len as usize], off);
            return;
        }
        let whole: Vec<u64> = self.chunks.range(first..end).map(|(&n, _)| n).collect();
        for n in whole {
            self.chunks.remove(&n);
        }
        let (head, tail) = (first * CHUNK as u64 - off, off + len - end * CHUNK as u64);
        self.write(&vec![GARBAGE; head as usize], off);
        self.write(&vec![GARBAGE; tail as usize], end * CHUNK as u64);
    }
}

enum Change {
    Write(u64, Vec<u8>),
    Discard(u64, u64),
}

#[derive(Default)]
struct Side {
    now: Store,
    durable: Store,
    pending: Vec<Change>,
}

impl Side {
    fn new(store: Store) -> Side {
        Side { now: store.clone(), durable: store, pending: Vec::new() }
    }

    fn flush(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write(off, data) => self.durable.write(&data, off),
                Change::Discard(off, len) => self.durable.discard(off, len),
            }
        }
    }

    /// What the media may hold when the power fails now.
    fn image(&self, rng: &mut Rng) -> Store {
        let mut image = self.durable.clone();
        let n = self.pending.len() as u64;
        let (how, at) = (rng.below(6), rng.below(n + 1));
        for (i, change) in (0..).zip(&self.pending) {
            let keep = match how {
                0 => false,
                1 => true,
                2 => rng.one_in(2),
                3 => i < at,
                4 => i != at,
                _ => true,
            };
            let torn = how == 5 || (how == 3 && i == at) || (how == 4 && i == at && rng.one_in(2));
            match change {
                Change::Write(off, data) if torn => torn_write(&mut image, *off, data, rng),
                Change::Write(off, data) if keep => image.write(data, *off),
                Change::Discard(off, len) if keep => image.discard(*off, *len),
                _ => {}
            }
        }
        image
    }
}

/// Some sectors of a write.
fn torn_write(image: &mut Store, off: u64, data: &[u8], rng: &mut Rng) {
    let (mut at, end) = (off, off + data.len() as u64);
    while at < end {
        let to = ((at / SECTOR + 1) * SECTOR).min(end);
        if rng.one_in(2) {
            image.write(&data[(at - off) as usize..(to - off) as usize], at);
        }
        at = to;
    }
}

#[derive(Default)]
struct Inner {
    sides: [Side; 2],
    /// Requests until the power fails.
    fuse: Option<u64>,
    /// What was on both media then.
    image: Option<[Store; 2]>,
    rng: Option<Rng>,
}

impl Inner {
    fn tick(&mut self) {
        let Some(left) = &mut self.fuse else { return };
        *left -= 1;
        if *left == 0 {
            self.fuse = None;
            self.image = Some(self.images());
        }
    }

    fn images(&mut self) -> [Store; 2] {
        let mut rng = self.rng.take().unwrap_or_else(|| Rng::new(0));
        let images = [self.sides[0].image(&mut rng), self.sides[1].image(&mut rng)];
        self.rng = Some(rng);
        images
    }
}

/// Two devices that lose power together.
#[derive(Clone)]
pub struct Pair {
    inner: Arc<Mutex<Inner>>,
    sizes: [u64; 2],
    slow: Arc<AtomicBool>,
}

impl Pair {
    /// Two devices, or one when the second has no size.
    pub fn new(meta: u64, data: u64, seed: u64) -> Pair {
        Pair::with([Store::default(), Store::default()], [meta, data], seed)
    }

    fn with(stores: [Store; 2], sizes: [u64; 2], seed: u64) -> Pair {
        let rng = Some(Rng::new(seed));
        let inner = Inner { sides: stores.map(Side::new), rng, ..Inner::default() };
        Pair { inner: Arc::new(Mutex::new(inner)), sizes, slow: Arc::default() }
    }

    pub fn meta(&self) -> Arc<dyn Device> {
        self.disk(0, "meta")
    }

    /// None when the other one holds everything.
    pub fn data(&self) -> Option<Arc<dyn Device>> {
        (self.sizes[1] > 0).then(|| self.disk(1, "data"))
    }

    fn disk(&self, side: usize, name: &'static str) -> Arc<dyn Device> {
        Arc::new(Disk { pair: self.clone(), side, name, counters: Counters::default() })
    }

    /// Has the power fail at the `n`th write, discard or flush from now on, counted from 1. The
    /// devices go on working; [`Pair::failed`] has what would be left.
    pub fn fuse(&self, n: u64) {
        let mut inner = self.inner.lock();
        inner.fuse = Some(n.max(1));
        inner.image = None;
    }

    /// The devices as they are after the power has failed where [`Pair::fuse`] said.
    pub fn failed(&self, seed: u64) -> Option<Pair> {
        let image = self.inner.lock().image.take();
        image.map(|stores| Pair::with(stores, self.sizes, seed))
    }

    /// Has some requests take long, so that threads meet in between.
    pub fn slow(&self) {
        self.slow.store(true, Ordering::SeqCst);
    }

    /// Takes [`Pair::fuse`] back.
    pub fn defuse(&self) {
        self.inner.lock().fuse = None;
    }

    /// The devices as they are when the power fails now.
    pub fn crash(&self, seed: u64) -> Pair {
        let stores = self.inner.lock().images();
        Pair::with(stores, self.sizes, seed)
    }
}

struct Disk {
    pair: Pair,
    side: usize,
    name: &'static str,
    counters: Counters,
}

impl Disk {
    fn work(&self, off: u64) {
        if self.pair.slow.load(Ordering::Relaxed) {
            let n = mix(off ^ u64::from(Instant::now().elapsed().subsec_nanos()));
            match n % 16 {
                0 => std::thread::sleep(Duration::from_micros(n / 16 % 300)),
                1..8 => std::thread::yield_now(),
                _ => {}
            }
        }
    }

    fn check(&self, off: u64, len: u64) -> io::Result<()> {
        match off.checked_add(len) {
            Some(end) if end <= self.size() => Ok(()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Device for Disk {
    fn name(&self) -> &str {
        self.name
    }

    fn size(&self) -> u64 {
        self.pair.sizes[self.side]
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        self.check(off, buf.len() as u64)?;
        self.counters.read(buf.len() as u64);
        self.work(off);
        self.pair.inner.lock().sides[self.side].now.read(buf, off);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        self.check(off, buf.len() as u64)?;
        self.counters.write(buf.len() as u64);
        self.work(off);
        let mut inner = self.pair.inner.lock();
        let side = &mut inner.sides[self.side];
        side.now.write(buf, off);
        side.pending.push(Change::Write(off, buf.to_vec()));
        inner.tick();
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        self.work(0);
        let mut inner = self.pair.inner.lock();
        inner.tick();
        inner.sides[self.side].flush();
        Ok(())
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        self.check(off, len)?;
        self.counters.discard(len);
        let mut inner = self.pair.inner.lock();
        let side = &mut inner.sides[self.side];
        side.now.discard(off, len);
        side.pending.push(Change::Discard(off, len));
        inner.tick();
        Ok(())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}
