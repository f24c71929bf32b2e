//! Crash images of a point of a history.

use std::hash::{DefaultHasher, Hasher};

use super::{Change, Event, SECTOR, Store, Walk};

/// What the devices may hold after a power failure.
pub struct Image {
    /// Its number among the images of its point, from 0: with the history and the arguments of
    /// [`Walk::images`] it names the image.
    pub number: u64,
    /// Contents by device.
    pub stores: Vec<Store>,
}

impl Image {
    /// A 64-bit hash of all contents (SipHash-1-3).
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.stores.iter().for_each(|store| store.fingerprint(&mut hasher));
        hasher.finish()
    }
}

/// How the images of a point are chosen.
#[derive(Clone, Copy)]
enum Plan {
    /// Every subset of all sectors.
    Sectors,
    /// Every subset of whole requests, then samples.
    Requests,
    /// Nothing, all, each request missing, each alone; then samples.
    Samples,
}

/// The images of a point, one after the other; some may be equal.
pub struct Images<'a, 'w> {
    walk: &'w Walk<'a>,
    pending: Vec<&'a Event>,
    plan: Plan,
    number: u64,
    most: u64,
    seed: u64,
}

impl<'a> Walk<'a> {
    /// At most `most` images of a power failure here. All subsets of sectors when they are not
    /// more; else all subsets of whole requests when these are at most half as many, or a choice
    /// of them; and for the rest samples from `seed`, in which requests may be torn and, where
    /// they overlap, may have come to the medium in another order.
    pub fn images(&self, most: u64, seed: u64) -> Images<'a, '_> {
        let pending: Vec<&Event> = self.pending().collect();
        let overlap = (1..pending.len()).any(|n| (0..n).any(|m| overlaps(pending[m], pending[n])));
        let sectors: u64 = pending.iter().map(|e| sectors(&e.change)).sum();
        let subsets = |n: u64| 1u64.checked_shl(n as u32).filter(|_| n < 64).unwrap_or(u64::MAX);
        let (plan, most) = match () {
            () if !overlap && subsets(sectors) <= most => (Plan::Sectors, subsets(sectors)),
            () if subsets(pending.len() as u64) <= most.div_ceil(2) => (Plan::Requests, most),
            () => (Plan::Samples, most),
        };
        Images { walk: self, pending, plan, number: 0, most, seed }
    }
}

fn overlaps(a: &Event, b: &Event) -> bool {
    let ((x, n), (y, m)) = (a.change.range(), b.change.range());
    a.device == b.device && x / SECTOR * SECTOR < y + m && y / SECTOR * SECTOR < x + n
}

fn sectors(change: &Change) -> u64 {
    let (off, len) = change.range();
    (off + len).div_ceil(SECTOR) - off / SECTOR
}

impl Images<'_, '_> {
    fn make(&self) -> Vec<Store> {
        let mut stores = self.walk.durable.clone();
        let n = self.pending.len() as u64;
        let whole = |keep: &dyn Fn(u64) -> bool, stores: &mut Vec<Store>| {
            for (i, event) in (0..).zip(&self.pending).filter(|(i, _)| keep(*i)) {
                let _: u64 = i;
                event.change.apply(&mut stores[event.device]);
            }
        };
        match self.plan {
            Plan::Sectors => {
                let mut bit = 0;
                for event in &self.pending {
                    torn(event, &mut stores, |_| {
                        bit += 1;
                        self.number >> (bit - 1) & 1 == 0
                    });
                }
            }
            Plan::Requests if self.number < 1 << n => {
                whole(&|i| self.number >> i & 1 == 0, &mut stores);
            }
            Plan::Samples if self.number < 2 * n + 2 => {
                let (which, alone) = (self.number / 2, self.number % 2 == 1);
                whole(&|i| (i + 1 == which) == alone, &mut stores);
            }
            _ => self.sample(&mut stores),
        }
        stores
    }

    fn sample(&self, stores: &mut [Store]) {
        let mix = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rng = fastrand::Rng::with_seed(self.seed ^ mix ^ (self.walk.at() as u64) << 48);
        let mut order: Vec<&Event> = self.pending.clone();
        if rng.u8(..4) == 0 {
            rng.shuffle(&mut order);
        }
        // Sometimes one request is torn, sometimes all of them; what remains is mostly there.
        let (one, few) = (rng.usize(..order.len().max(1)), rng.u8(..3));
        for (i, event) in order.into_iter().enumerate() {
            let tear = match few {
                0 => i == one,
                1 => i == one || rng.u8(..4) == 0,
                _ => rng.bool(),
            };
            if tear {
                let (share, cut) = (rng.u8(1..4), rng.u64(..=sectors(&event.change)));
                torn(event, stores, |at| match share {
                    1 => at < cut,
                    2 => at >= cut,
                    _ => rng.bool(),
                });
            } else if few != 1 || rng.u8(..4) > 0 {
                event.change.apply(&mut stores[event.device]);
            }
        }
    }
}

/// Applies the sectors of a request for which `keep` holds; they are numbered from 0.
fn torn(event: &Event, stores: &mut [Store], mut keep: impl FnMut(u64) -> bool) {
    let (off, len) = event.change.range();
    let (mut at, end, mut n) = (off, off + len, 0);
    let store = &mut stores[event.device];
    while at < end {
        let to = ((at / SECTOR + 1) * SECTOR).min(end);
        if keep(n) {
            match &event.change {
                Change::Write(_, data) => {
                    store.write(&data[(at - off) as usize..(to - off) as usize], at);
                }
                Change::Discard(..) => store.discard(at, to - at),
                Change::Flush => {}
            }
        }
        (at, n) = (to, n + 1);
    }
}

impl Iterator for Images<'_, '_> {
    type Item = Image;

    fn next(&mut self) -> Option<Image> {
        if self.number >= self.most {
            return None;
        }
        let image = Image { number: self.number, stores: self.make() };
        self.number += 1;
        Some(image)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.most.saturating_sub(self.number)).unwrap_or(usize::MAX);
        (left, Some(left))
    }

    fn nth(&mut self, n: usize) -> Option<Image> {
        self.number = self.number.saturating_add(n as u64);
        self.next()
    }
}

impl ExactSizeIterator for Images<'_, '_> {}
