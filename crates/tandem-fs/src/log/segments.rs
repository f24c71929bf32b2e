//! Segment usage: which segments of the log hold live blocks, and how many bytes of them.

mod room;
mod thin;

use std::collections::{BTreeMap, BTreeSet};

use crate::planted::{Planted, planted};
use tandem_format::{Geometry, Loc, SEG_PER_BLOCK, SegEntry};
pub(crate) use thin::Thin;

/// The usage table, whole in memory: 16 bytes a segment.
pub(crate) struct Segments {
    entries: Vec<SegEntry>,
    base: u64,
    size: u64,
    clean: u64,
    live: u64,
    /// Being filled.
    pub active: u64,
    /// To be filled after it; named in every summary, so that recovery finds it.
    pub next: u64,
    /// Bytes of the active segment already written.
    pub filled: u64,
    /// Where checkpoints put the IFile's blocks.
    tables: Option<u64>,
    /// Bytes of the block map.
    pub map_bytes: u64,
    cursor: u64,
    dirty: BTreeSet<u64>,
    touched: bool,
    /// Segments that have become clean since the mount.
    released: u64,
    /// How often each segment has been written to since the mount.
    writes: Vec<u64>,
    /// Mean stamp of the live bytes, as of the last look of the cleaner.
    mean: u64,
    /// Bytes by segment of the usage table's own blocks: a mount that reads them counts them, so
    /// that writing the table does not change the table.
    own: BTreeMap<u64, u32>,
}

impl Segments {
    /// A table with the given entries; segment 0 is active.
    pub fn new(geo: &Geometry, entries: Vec<SegEntry>) -> Segments {
        Segments {
            base: geo.segment_offset(0),
            size: u64::from(geo.segment_size),
            clean: entries.iter().filter(|e| !e.used).count() as u64,
            live: entries.iter().map(|e| u64::from(e.live)).sum(),
            entries,
            active: 0,
            next: 0,
            filled: 0,
            tables: None,
            map_bytes: 0,
            cursor: 0,
            dirty: BTreeSet::new(),
            touched: false,
            released: 0,
            writes: vec![0; geo.segments as usize],
            mean: 0,
            own: BTreeMap::new(),
        }
    }

    /// The segment that an address lies in.
    pub fn of(&self, loc: Loc) -> Option<u64> {
        let n = loc.offset().checked_sub(self.base)? / self.size;
        (n < self.entries.len() as u64).then_some(n)
    }

    /// How many segments there are.
    pub fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Bytes of a segment.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A segment's entry.
    pub fn entry(&self, n: u64) -> SegEntry {
        self.entries.get(n as usize).copied().unwrap_or_default()
    }

    /// A block has moved: its bytes are live elsewhere.
    pub fn moved(&mut self, old: Loc, new: Loc) {
        if !old.is_none() {
            self.dead(old);
        }
        if !new.is_none() {
            self.alive(new);
        }
    }

    /// A block of the usage table itself has moved.
    pub fn moved_own(&mut self, old: Loc, new: Loc) {
        self.moved(old, new);
        if let (false, Some(n)) = (old.is_none(), self.of(old)) {
            let bytes = self.own.entry(n).or_default();
            *bytes = bytes.saturating_sub(old.bytes() as u32);
        }
        if let (false, Some(n)) = (new.is_none(), self.of(new)) {
            *self.own.entry(n).or_default() += new.bytes() as u32;
        }
    }

    /// A block at `loc` is live from now on.
    pub fn alive(&mut self, loc: Loc) {
        let Some(n) = self.of(loc) else { return };
        let entry = &mut self.entries[n as usize];
        let bytes = loc.bytes() as u32;
        entry.live = entry.live.saturating_add(bytes);
        if !entry.used {
            entry.used = true;
            self.clean -= 1;
        }
        self.live += u64::from(bytes);
        self.dirty.insert(n / SEG_PER_BLOCK as u64);
    }

    fn dead(&mut self, loc: Loc) {
        let Some(n) = self.of(loc) else { return };
        let entry = &mut self.entries[n as usize];
        let bytes = (loc.bytes() as u32).min(entry.live);
        entry.live -= bytes;
        self.live = self.live.saturating_sub(u64::from(bytes));
        self.dirty.insert(n / SEG_PER_BLOCK as u64);
    }

    /// Has a block of the table written again.
    pub fn touch(&mut self, index: u64) {
        self.dirty.insert(index);
        self.touched = true;
    }

    /// Whether the cleaner wants a block of the table moved.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// A segment is being written to; the youngest of the blocks is of commit `stamp`.
    pub fn mark_used(&mut self, n: u64, stamp: u64) {
        let Some(entry) = self.entries.get_mut(n as usize) else { return };
        if let Some(writes) = self.writes.get_mut(n as usize) {
            *writes += 1;
        }
        let fresh = !entry.used;
        if fresh {
            entry.used = true;
            self.clean -= 1;
        }
        if fresh || entry.stamp < stamp {
            entry.stamp = stamp;
            self.dirty.insert(n / SEG_PER_BLOCK as u64);
        }
    }

    /// Another number after the segment was written to: what was read from it before may be of
    /// other blocks.
    pub fn writes(&self, n: u64) -> u64 {
        self.writes.get(n as usize).copied().unwrap_or(0)
    }

    /// When the block at `loc` was last changed, about: the stamp of its segment.
    pub fn stamp_of(&self, loc: Loc) -> Option<u64> {
        self.of(loc).map(|n| self.entry(n).stamp)
    }

    /// Mean stamp of the live bytes: what is older counts as cold.
    pub fn mean_stamp(&self) -> u64 {
        self.mean
    }

    /// Takes the mean stamp anew.
    pub fn take_mean(&mut self) {
        let sum: u128 = self.entries.iter().map(|e| u128::from(e.stamp) * u128::from(e.live)).sum();
        self.mean = (sum / u128::from(self.live.max(1))) as u64;
    }

    /// The log goes on in the next segment, and another one follows it. None when there is none.
    pub fn advance(&mut self) -> Option<u64> {
        let next = self.next;
        (self.active, self.filled) = (next, 0);
        self.mark_used(next, 0);
        self.next = self.pick_clean()?;
        Some(next)
    }

    /// Checkpoints go on in another segment. None when there is none.
    pub fn advance_tables(&mut self) -> Option<u64> {
        let next = self.pick_clean()?;
        self.mark_used(next, 0);
        self.tables = Some(next);
        Some(next)
    }

    /// Whether something is yet to be written to a segment before it is full.
    fn is_open(&self, n: u64) -> bool {
        n == self.active || n == self.next || self.tables == Some(n)
    }

    /// A clean segment other than the active and the next one.
    pub fn pick_clean(&mut self) -> Option<u64> {
        let count = self.count();
        for step in 0..count {
            let n = (self.cursor + step) % count;
            let free = !self.entries[n as usize].used || planted(Planted::LiveSegment);
            if n != self.active && n != self.next && free {
                self.cursor = (n + 1) % count;
                return Some(n);
            }
        }
        None
    }

    /// After a durable checkpoint: segments without a live byte are clean (invariant 2).
    /// Returns how many became so.
    pub fn release_dead(&mut self) -> u64 {
        let open = [Some(self.active), Some(self.next), self.tables];
        let mut released = 0;
        for (n, entry) in self.entries.iter_mut().enumerate() {
            let n = n as u64;
            if entry.used && entry.live == 0 && !open.contains(&Some(n)) {
                entry.used = false;
                released += 1;
                self.dirty.insert(n / SEG_PER_BLOCK as u64);
            }
        }
        self.clean += released;
        self.released += released;
        released
    }

    /// Used segments with their live bytes, for the cleaner and for figures; not those that are
    /// being filled.
    pub fn used(&self) -> impl Iterator<Item = (u64, SegEntry)> + '_ {
        self.entries
            .iter()
            .enumerate()
            .map(|(n, e)| (n as u64, *e))
            .filter(|(n, e)| e.used && !self.is_open(*n))
    }

    /// Segments that have become clean since the mount.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Where the log ends, in bytes: another value after anything was logged.
    pub fn position(&self) -> u64 {
        self.active * self.size + self.filled
    }

    /// Number of clean segments.
    pub fn clean(&self) -> u64 {
        self.clean
    }

    /// Bytes of live blocks.
    pub fn live_bytes(&self) -> u64 {
        self.live
    }

    /// Blocks of the usage table that have changed since the last call.
    pub fn take_dirty(&mut self) -> Vec<u64> {
        self.touched = false;
        std::mem::take(&mut self.dirty).into_iter().collect()
    }

    /// The entries of one block of the table, without what its own blocks take up.
    pub fn table_block(&self, index: u64) -> Vec<SegEntry> {
        let from = index * SEG_PER_BLOCK as u64;
        let to = (from + SEG_PER_BLOCK as u64).min(self.count());
        (from..to)
            .map(|n| {
                let entry = self.entry(n);
                let own = self.own.get(&n).copied().unwrap_or(0);
                SegEntry { live: entry.live.saturating_sub(own), ..entry }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
