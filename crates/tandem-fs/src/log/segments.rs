//! Segment usage: which segments of the log hold live blocks, and how many bytes of them.

use std::collections::{BTreeMap, BTreeSet};

use tandem_format::{Geometry, Loc, SEG_PER_BLOCK, SegEntry};

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
    cursor: u64,
    dirty: BTreeSet<u64>,
    touched: bool,
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
            cursor: 0,
            dirty: BTreeSet::new(),
            touched: false,
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

    /// A segment is being written to by commit `stamp`.
    pub fn mark_used(&mut self, n: u64, stamp: u64) {
        if let Some(entry) = self.entries.get_mut(n as usize) {
            if !entry.used {
                entry.used = true;
                self.clean -= 1;
            }
            if entry.stamp != stamp {
                entry.stamp = stamp;
                self.dirty.insert(n / SEG_PER_BLOCK as u64);
            }
        }
    }

    /// A clean segment other than the active and the next one.
    pub fn pick_clean(&mut self) -> Option<u64> {
        let count = self.count();
        for step in 0..count {
            let n = (self.cursor + step) % count;
            if n != self.active && n != self.next && !self.entries[n as usize].used {
                self.cursor = (n + 1) % count;
                return Some(n);
            }
        }
        None
    }

    /// After a durable checkpoint: segments without a live byte are clean (invariant 2).
    /// Returns how many became so.
    pub fn release_dead(&mut self) -> u64 {
        let mut released = 0;
        for (n, entry) in self.entries.iter_mut().enumerate() {
            let n = n as u64;
            if entry.used && entry.live == 0 && n != self.active && n != self.next {
                entry.used = false;
                released += 1;
                self.dirty.insert(n / SEG_PER_BLOCK as u64);
            }
        }
        self.clean += released;
        released
    }

    /// Used segments with their live bytes, for the cleaner and for figures; not the active one.
    pub fn used(&self) -> impl Iterator<Item = (u64, SegEntry)> + '_ {
        self.entries
            .iter()
            .enumerate()
            .map(|(n, e)| (n as u64, *e))
            .filter(|(n, e)| e.used && *n != self.active && *n != self.next)
    }

    /// Number of clean segments.
    pub fn clean(&self) -> u64 {
        self.clean
    }

    /// Bytes of live blocks.
    pub fn live_bytes(&self) -> u64 {
        self.live
    }

    /// Segments that only deletion, the cleaner and checkpoints may use.
    pub fn reserve(&self) -> u64 {
        (self.count() / 16).clamp(6, 64)
    }

    /// Bytes of a segment that blocks can count on. The rest goes to summaries, to padding, and to
    /// the end of a segment that the next block is too long for.
    pub fn usable(&self) -> u64 {
        self.size - self.size / 16 - (12 << 10)
    }

    /// Bytes that live blocks may take up: the rest keeps the cleaner effective.
    pub fn room_for_live(&self) -> u64 {
        let segments = self.count() - (self.reserve() + 1).min(self.count());
        segments * self.usable() / 16 * 14
    }

    /// Bytes that can be written before segments must be cleaned.
    pub fn room_for_writes(&self, essential: bool) -> u64 {
        let kept = if essential { 1 } else { self.reserve() };
        let here =
            (self.size - self.filled.min(self.size)).saturating_sub(self.size - self.usable());
        self.clean.saturating_sub(kept) * self.usable() + here
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
