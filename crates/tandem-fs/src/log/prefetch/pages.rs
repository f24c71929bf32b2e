//! Which pages of the log have been read, so that no request reads what an earlier one has brought.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Segments of which this is remembered at once.
const MOST_SEGMENTS: usize = 4096;

struct Marks {
    /// Commit that last wrote to the segment when it was read.
    stamp: u64,
    bits: Box<[u64]>,
}

/// One bit for every page of segments that have been read from.
#[derive(Default)]
pub(super) struct Pages {
    segments: FxHashMap<u64, Marks>,
}

impl Pages {
    /// Whether a page has been read.
    pub fn has(&self, segment: u64, page: usize) -> bool {
        let bits = self.segments.get(&segment).map_or(&[][..], |m| &m.bits);
        bits.get(page / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    /// These pages have been read. `of` is how many the segment has.
    pub fn set(&mut self, segment: u64, stamp: u64, pages: Range<usize>, of: usize) {
        if self.segments.len() >= MOST_SEGMENTS && !self.segments.contains_key(&segment) {
            self.segments.clear();
        }
        let fresh = || Marks { stamp, bits: vec![0; of.div_ceil(64)].into() };
        let marks = self.segments.entry(segment).or_insert_with(fresh);
        marks.stamp = stamp;
        for page in pages {
            if let Some(word) = marks.bits.get_mut(page / 64) {
                *word |= 1 << (page % 64);
            }
        }
    }

    /// What was read there is in memory no longer.
    pub fn forget(&mut self, segment: u64, pages: Range<usize>) {
        let Some(marks) = self.segments.get_mut(&segment) else { return };
        for page in pages {
            if let Some(word) = marks.bits.get_mut(page / 64) {
                *word &= !(1 << (page % 64));
            }
        }
    }

    /// Forgets a segment that has been written to since.
    pub fn check(&mut self, segment: u64, stamp: u64) {
        if self.segments.get(&segment).is_some_and(|m| m.stamp != stamp) {
            self.segments.remove(&segment);
        }
    }
}
