//! On-line metadata relocation (DualFS §2.2 "On-line Meta-data Relocation"): metadata that was read
//! is logged again, in the order in which it was read, so that prefetching brings it together the
//! next time.
//!
//! The paper relocates everything that is read. Here only what was read in a poor order is: requests
//! to M are looked at in batches, and when half of a batch brought little that was asked for, what was
//! asked for of it moves. What an ordinary prefetch window brought stays where it is.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use tandem_format::GRAIN;

use super::prefetch::Window;
use crate::cache::{FirstUse, Key};
use crate::state::State;

/// Requests that are judged together.
const BATCH: usize = 16;
/// The fewest that say anything, when no more are to come.
const FEW: usize = 4;
/// A request is poor when less than this part of what a full window spans was asked for.
const POOR: u64 = 2;
/// Nanoseconds without a request after which a walk is over.
const OVER: u64 = 1_000_000_000;
/// Nanoseconds in which the allowance is full again.
const REFILL: u64 = 60_000_000_000;
/// Nanoseconds after which a block may move again.
const ONCE: u64 = 3_600_000_000_000;
/// Blocks remembered as moved.
const MOST_MOVED: usize = 1 << 16;

/// Counters of on-line relocation.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct RelocationStats {
    /// Blocks logged again because they were read in another order than they lay in.
    pub relocated: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Requests to M that brought little of what was asked for next.
    pub poor_requests: u64,
    /// Blocks that stayed where they were because the budget was used up.
    pub refused_budget: u64,
    /// Because the log had no room to spare.
    pub refused_room: u64,
    /// Because they had moved a short time ago: their order does not repeat.
    pub refused_again: u64,
}

struct Request {
    number: u32,
    reach: u64,
    len: u64,
}

/// The order in which metadata is read, and what of it moves.
pub(crate) struct Relocate {
    on: bool,
    requests: VecDeque<Request>,
    /// Bytes that they have read.
    read: u64,
    /// Bytes read after a request, when it has had time to show what it is worth: about then what
    /// it brought in vain leaves memory.
    patience: u64,
    /// Place in the order of reading of the blocks that the next commit logs in it.
    ranks: FxHashMap<Key, u64>,
    next_rank: u64,
    /// Bytes of them that are logged for that alone.
    pending: u64,
    /// Bytes that may be logged, and when they were counted.
    tokens: u64,
    most_tokens: u64,
    counted_at: u64,
    asked_at: u64,
    moved: FxHashSet<Key>,
    moved_since: u64,
    stats: RelocationStats,
}

impl Relocate {
    /// `on` as mounted; `meta_size` is M's size, `cache` the bound on memory, in bytes.
    pub fn new(on: bool, meta_size: u64, cache: u64, now: u64) -> Relocate {
        let most_tokens = (meta_size / 16).clamp(1 << 20, 16 << 20);
        Relocate {
            on,
            requests: VecDeque::new(),
            read: 0,
            patience: cache / 8,
            ranks: FxHashMap::default(),
            next_rank: 0,
            pending: 0,
            tokens: most_tokens,
            most_tokens,
            counted_at: now,
            asked_at: now,
            moved: FxHashSet::default(),
            moved_since: now,
            stats: RelocationStats::default(),
        }
    }

    /// Bytes have been logged for other reasons: a quarter as many may be for this one.
    pub fn logged(&mut self, bytes: u64) {
        self.tokens = (self.tokens + bytes / 4).min(self.most_tokens);
    }

    /// The blocks that the commit being frozen logs in the order of reading.
    pub fn freeze(&mut self) -> Ranks {
        Ranks { of: std::mem::take(&mut self.ranks), bytes: std::mem::take(&mut self.pending) }
    }

    /// The counters.
    pub fn stats(&self) -> RelocationStats {
        self.stats
    }

    fn refill(&mut self, now: u64) {
        let passed = now.saturating_sub(self.counted_at).min(REFILL);
        let more = (u128::from(self.most_tokens) * u128::from(passed) / u128::from(REFILL)) as u64;
        if more > 0 {
            self.counted_at = now;
            self.tokens = (self.tokens + more).min(self.most_tokens);
        }
        if now.saturating_sub(self.moved_since) > ONCE || self.moved.len() >= MOST_MOVED {
            self.moved.clear();
            self.moved_since = now;
        }
    }

    /// How many of the oldest requests have had time to show what they are worth.
    fn ripe(&self) -> usize {
        let mut behind = self.read;
        let ripe = |r: &&Request| {
            behind -= r.len;
            behind >= self.patience
        };
        self.requests.iter().take_while(ripe).count()
    }

    /// Takes the oldest `n` requests away; returns the numbers of the poor ones of batches of which
    /// they are half.
    fn take_poor(&mut self, uses: &[FirstUse], n: usize) -> FxHashSet<u32> {
        let mut used: FxHashMap<u32, u64> = FxHashMap::default();
        for first in uses {
            let bytes = u64::from(first.brought.grains) * GRAIN as u64;
            *used.entry(first.brought.request).or_default() += bytes;
        }
        let taken: Vec<Request> = self.requests.drain(..n).collect();
        self.read -= taken.iter().map(|r| r.len).sum::<u64>();
        let is_poor = |r: &&Request| used.get(&r.number).copied().unwrap_or(0) * POOR < r.reach;
        let mut moving = FxHashSet::default();
        for batch in taken.chunks(BATCH).filter(|batch| batch.len() >= FEW) {
            let poor = batch.iter().filter(is_poor).map(|r| r.number);
            let n = poor.clone().count();
            self.stats.poor_requests += n as u64;
            if n * 2 >= batch.len() {
                moving.extend(poor);
            }
        }
        moving
    }
}

/// Places in the order of reading.
#[derive(Default)]
pub(crate) struct Ranks {
    of: FxHashMap<Key, u64>,
    /// Bytes logged for the sake of the order alone.
    pub bytes: u64,
}

impl Ranks {
    /// Where a block comes in the log: what moves comes last and, like everything else, inversely.
    pub fn place(&self, key: Key) -> (bool, Reverse<u64>) {
        let rank = self.of.get(&key).copied();
        (rank.is_some(), Reverse(rank.unwrap_or(0)))
    }
}

impl State {
    /// A request was made for a block with an id.
    pub(crate) fn asked(&mut self, window: &Window, now: u64) {
        if !self.relocate.on || self.read_only {
            return;
        }
        self.relocate.asked_at = now;
        let len = window.len as u64;
        let request = Request { number: window.number, reach: window.reach, len };
        self.relocate.requests.push_back(request);
        self.relocate.read += len;
        let many = (self.relocate.requests.len() / 4).next_multiple_of(BATCH).max(BATCH);
        // All in between may be looked at once more each time.
        if self.relocate.requests.len().is_multiple_of(BATCH) && self.relocate.ripe() >= many {
            self.judge(many, now);
        }
    }

    /// Before a commit: when nothing was read for a while, or nothing will be any more, what was read
    /// last is judged too.
    pub(crate) fn settle_relocation(&mut self, now: u64, closing: bool) {
        if !closing && now.saturating_sub(self.relocate.asked_at) < OVER {
            return;
        }
        let n = self.relocate.requests.len();
        if n > 0 {
            self.judge(n, now);
        }
    }

    /// Judges the oldest `n` requests, and has what the poor ones brought moved.
    fn judge(&mut self, n: usize, now: u64) {
        self.relocate.refill(now);
        let Some(last) = self.relocate.requests.get(n - 1).map(|r| r.number) else { return };
        let uses = self.cache.ahead.take_uses(last);
        let poor = self.relocate.take_poor(&uses, n);
        for first in uses.iter().filter(|u| poor.contains(&u.brought.request)) {
            self.relocate_block(first);
        }
    }

    /// Has the next commit log a block again, in the order of reading.
    fn relocate_block(&mut self, first: &FirstUse) {
        let (key, bytes) = (first.key, u64::from(first.brought.grains) * GRAIN as u64);
        let going = key.id().is_none_or(|id| self.going.contains(&id));
        if going || !self.cache.contains(key) || self.relocate.ranks.contains_key(&key) {
            return;
        }
        if !self.cache.is_dirty(key) {
            if self.relocate.moved.contains(&key) {
                self.relocate.stats.refused_again += 1;
                return;
            }
            if self.relocate.tokens < bytes {
                self.relocate.stats.refused_budget += 1;
                return;
            }
            if !self.has_room_to_relocate(bytes) || self.cache.touch(key).is_err() {
                self.relocate.stats.refused_room += 1;
                return;
            }
            self.relocate.tokens -= bytes;
            self.relocate.pending += bytes;
            self.relocate.stats.relocated += 1;
            self.relocate.stats.bytes += bytes;
            self.relocate.moved.insert(key);
        }
        self.relocate.ranks.insert(key, self.relocate.next_rank);
        self.relocate.next_rank += 1;
    }

    /// Whether the log has so much room that nobody else will miss it, and memory too.
    fn has_room_to_relocate(&mut self, bytes: u64) -> bool {
        let low = (self.segs.count() / 8).max(self.segs.reserve() * 2);
        let plenty = self.segs.clean() > low + low / 2
            && self.segs.live_bytes() * 4 < self.segs.room_for_live() * 3;
        plenty
            && self.relocate.pending + bytes <= self.dirty_limit / 4 * 3
            && self.claim_rewrite(0, bytes, false).is_ok()
    }
}
