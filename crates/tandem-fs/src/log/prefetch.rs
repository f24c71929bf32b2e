//! Metadata prefetching (DualFS §2.2 "Meta-data Prefetching"): a block that must be read is read
//! together with its neighbours in the log, in one request. The greater part of them is before it,
//! since the log has directories and files in inverse order; some are behind it.
//!
//! Beyond the paper: what an earlier request has brought is not read again; the number of blocks
//! follows the share that gets used; and misses that run through a segment have the rest of it read
//! at once. No clock has a say, so the same walk makes the same requests.

mod pages;

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use tandem_format::{BLOCK, Geometry, Loc};

use super::Segments;
use crate::cache::{Block, Key};
use pages::Pages;

/// Fewest pages that a window shrinks to.
const SMALLEST: usize = 2;
/// Pages between requests that follow each other in the log, at most.
const TOUCHING: usize = 1;
/// Requests that are looked back at for misses that run through a segment.
const RECENT: usize = 8;
/// Prefetched blocks used or wasted after which the window is judged.
const JUDGED: u64 = 64;
/// The least `prefetch` with which whole segments are read.
const WALKS: usize = 16;
/// Blocks kept whose block map block is not in memory.
const MOST_STASHED: usize = 256;

/// Counters of metadata prefetching.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct PrefetchStats {
    /// Requests to M for blocks that were not in memory.
    pub requests: u64,
    /// Blocks that they brought beside those that were wanted.
    pub prefetched: u64,
    /// Prefetched blocks that were asked for later.
    pub used: u64,
    /// Prefetched blocks that left memory before anybody asked for them.
    pub wasted: u64,
    /// Pages of 4 KiB that a request reads at present.
    pub window: u64,
    /// Requests that read all the rest of a segment.
    pub segment_reads: u64,
}

/// What one request reads.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Number of the request.
    pub number: u32,
    /// Byte of M that it starts at, and bytes.
    pub from: u64,
    pub len: usize,
    /// Bytes that a window of full size would have.
    pub reach: u64,
    /// The block was in memory before, and has had to go.
    pub again: bool,
    /// Segment, and the commit that had last written to it.
    pub segment: u64,
    pub stamp: u64,
    /// The same in pages of the segment, and the pages of a segment.
    pages: Range<usize>,
    of: usize,
}

impl Window {
    /// Whether it reads more than the block at `loc`.
    pub fn is_more_than(&self, loc: Loc) -> bool {
        self.len as u64 > loc.bytes()
    }
}

/// A block that was read at a place where it may live or not.
struct Stashed {
    loc: Loc,
    /// Commit that had last written to the segment.
    stamp: u64,
    request: u32,
    block: Block,
}

/// Decides how much is read around a block, and remembers what was.
pub(crate) struct Prefetch {
    /// As mounted: the most pages of a window.
    option: usize,
    window: usize,
    pages: Pages,
    recent: VecDeque<(u64, Range<usize>)>,
    judged: (u64, u64),
    stash: FxHashMap<Key, Stashed>,
    stashed: VecDeque<Key>,
    number: u32,
    requests: u64,
    segment_reads: u64,
    pub prefetched: u64,
}

impl Prefetch {
    /// With windows of at most `option` pages; 0 prefetches nothing.
    pub fn new(option: u32) -> Prefetch {
        Prefetch {
            option: option as usize,
            window: option as usize,
            pages: Pages::default(),
            recent: VecDeque::new(),
            judged: (0, 0),
            stash: FxHashMap::default(),
            stashed: VecDeque::new(),
            number: 0,
            requests: 0,
            segment_reads: 0,
            prefetched: 0,
        }
    }

    /// What to read for the block at `loc`. `used` and `wasted` count prefetched blocks since the
    /// mount; `room` is how many bytes of metadata fit into memory.
    pub fn plan(
        &mut self,
        geo: &Geometry,
        segs: &Segments,
        loc: Loc,
        (used, wasted): (u64, u64),
        room: u64,
    ) -> Window {
        self.judge(used, wasted);
        self.number = self.number.wrapping_add(1);
        self.requests += 1;
        let segment = segs.of(loc).unwrap_or(u64::MAX);
        let stamp = segs.writes(segment);
        let of = geo.segment_size as usize / BLOCK;
        let alone = Window {
            number: self.number,
            from: loc.offset(),
            len: loc.bytes() as usize,
            reach: loc.bytes(),
            again: false,
            segment,
            stamp,
            pages: 0..0,
            of,
        };
        let base = geo.segment_offset(segment.min(geo.segments));
        let block = page_range(loc, base);
        if segment == u64::MAX || block.end > of || block.len() > self.option {
            return alone;
        }
        let end = if segment == segs.active { segs.filled as usize / BLOCK } else { of };
        let end = end.max(block.end);
        if segment != segs.active {
            self.pages.check(segment, stamp);
        }
        let again = block.clone().all(|page| self.pages.has(segment, page));
        if again {
            let from = block.start.saturating_sub(self.option);
            self.pages.forget(segment, from..block.end + self.option);
        }
        if self.near(segment, &block, self.option) >= 2 {
            // A larger window would have brought it.
            self.window = (self.window * 2).min(self.option);
        }
        let reach = self.expand(segment, &block, end, self.option).len() as u64 * BLOCK as u64;
        let pages = if self.runs_through(segs, segment, &block, end, room) {
            self.segment_reads += 1;
            self.expand(segment, &block, end, of)
        } else if again && self.near(segment, &block, TOUCHING) == 0 {
            // It was here with its neighbours, and all had to go: they would again.
            self.expand(segment, &block, end, SMALLEST)
        } else {
            self.expand(segment, &block, end, self.window)
        };
        self.recent.truncate(RECENT - 1);
        self.recent.push_front((segment, pages.clone()));
        let from = base + (pages.start * BLOCK) as u64;
        Window { from, len: pages.len() * BLOCK, reach, again, pages, ..alone }
    }

    /// Up to `most` pages around those of a block, three before it for one behind it, that have not
    /// been read and lie before page `end`.
    fn expand(&self, segment: u64, block: &Range<usize>, end: usize, most: usize) -> Range<usize> {
        let free = most.saturating_sub(block.len());
        let unread = |page: &usize| !self.pages.has(segment, *page);
        let before = (0..block.start).rev().take(free).take_while(unread).count();
        let behind = (block.end..end).take(free).take_while(unread).count();
        let first = before.min(free - free / 4);
        let after = behind.min(free - first);
        let first = before.min(free - after);
        block.start - first..block.end + after
    }

    /// Whether misses run through the segment, and the rest of it is worth reading at once: little
    /// of it is dead, and it takes up little of the memory.
    fn runs_through(
        &self,
        segs: &Segments,
        segment: u64,
        block: &Range<usize>,
        end: usize,
        room: u64,
    ) -> bool {
        let bytes = (end * BLOCK) as u64;
        self.option >= WALKS
            && self.window == self.option
            && self.near(segment, block, self.option) >= 2
            && u64::from(segs.entry(segment).live) * 4 >= bytes * 3
            && bytes * 8 <= room
    }

    /// How many of the last requests have read up to `distance` pages from a block.
    fn near(&self, segment: u64, block: &Range<usize>, distance: usize) -> usize {
        let close = |(n, pages): &&(u64, Range<usize>)| {
            *n == segment
                && pages.start <= block.end + distance
                && block.start <= pages.end + distance
        };
        self.recent.iter().filter(close).count()
    }

    /// Halves the window when three of four prefetched blocks are wasted, doubles it when half of
    /// them are used.
    fn judge(&mut self, used: u64, wasted: u64) {
        let (u, w) = (used - self.judged.0.min(used), wasted - self.judged.1.min(wasted));
        if u + w < JUDGED {
            return;
        }
        self.judged = (used, wasted);
        if w > 3 * u {
            self.window = (self.window / 2).max(SMALLEST.min(self.option));
        } else if u >= w {
            self.window = (self.window * 2).min(self.option);
        }
    }

    /// A window has been read and what lives there entered. `cut` says whether a block at its start
    /// and at its end is there in part only: those pages count as not read.
    pub fn done(&mut self, window: &Window, cut: (bool, bool)) {
        if window.pages.is_empty() {
            return;
        }
        let from = window.pages.start + usize::from(cut.0);
        let to = window.pages.end - usize::from(cut.1);
        self.pages.set(window.segment, window.stamp, from..to.max(from), window.of);
    }

    /// Keeps a block of which nobody knows yet whether it lives where it was read.
    pub fn stash(&mut self, key: Key, loc: Loc, window: &Window, block: Block) {
        while self.stashed.len() >= MOST_STASHED {
            if let Some(oldest) = self.stashed.pop_front() {
                self.stash.remove(&oldest);
            }
        }
        let (request, stamp) = (window.number, window.stamp);
        self.stash.insert(key, Stashed { loc, stamp, request, block });
        self.stashed.push_back(key);
    }

    /// Takes the block that lives at `loc`, if it is kept and nothing was written there since.
    /// Also returns the number of the request that brought it.
    pub fn unstash(&mut self, segs: &Segments, key: Key, loc: Loc) -> Option<(u32, Block)> {
        let kept = self.stash.remove(&key)?;
        let same = segs.of(loc).is_some_and(|n| segs.writes(n) == kept.stamp);
        (kept.loc == loc && same).then_some((kept.request, kept.block))
    }

    /// The counters; `used` and `wasted` as the cache has them.
    pub fn stats(&self, used: u64, wasted: u64) -> PrefetchStats {
        PrefetchStats {
            requests: self.requests,
            prefetched: self.prefetched,
            used,
            wasted,
            window: self.window as u64,
            segment_reads: self.segment_reads,
        }
    }
}

/// The pages that a block lies in, counted from byte `base`.
fn page_range(loc: Loc, base: u64) -> Range<usize> {
    let from = loc.offset().saturating_sub(base);
    let to = from.saturating_add(loc.bytes());
    (from / BLOCK as u64) as usize..to.div_ceil(BLOCK as u64) as usize
}

#[cfg(test)]
mod tests;
