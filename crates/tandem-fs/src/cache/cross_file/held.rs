//! What of D is in memory: ranges of bytes, however many blocks they are, in buffers that came with
//! one request each. A range that was written on D is cut out, so what is left is what D has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bytes found: offset in the reader's buffer, the piece, and where in the piece they lie.
pub(super) type Found = SmallVec<[(usize, Arc<Vec<u8>>, std::ops::Range<usize>); 1]>;

/// What one request to D brought.
struct Buffer {
    bytes: Arc<Vec<u8>>,
    at: u64,
    /// Bytes that are still as D has them.
    valid: u64,
    /// Bytes that were asked for, counted as often as they were.
    used: u64,
    /// The run of one directory in it, and what of `used` lies in that.
    run: (u64, u64),
    used_of_run: u64,
    /// Used since the hand of the clock came by.
    referenced: bool,
}

/// A buffer that has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    /// Bytes of its request.
    pub len: u64,
    /// Bytes of it that were asked for at least once, at most.
    pub used: u64,
}

/// Disjoint valid ranges by their first byte on D, over buffers in second-chance order.
#[derive(Default)]
pub(super) struct Held {
    /// First byte to end and buffer.
    ranges: BTreeMap<u64, (u64, u64)>,
    buffers: FxHashMap<u64, Buffer>,
    clock: VecDeque<u64>,
    next: u64,
    bytes: u64,
}

impl Held {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What there is of `[at, at + len)` from its beginning on, without a gap.
    pub fn find(&mut self, at: u64, len: usize) -> Found {
        let end = at.saturating_add(len as u64);
        let mut found = Found::new();
        let mut from = at;
        while from < end {
            let Some((_, &(stop, id))) = self.ranges.range(..=from).next_back() else { break };
            let Some(buffer) = self.buffers.get_mut(&id).filter(|_| stop > from) else { break };
            let to = stop.min(end);
            buffer.used += to - from;
            buffer.used_of_run += to.min(buffer.run.1).saturating_sub(from.max(buffer.run.0));
            buffer.referenced = true;
            let inside = (from - buffer.at) as usize..(to - buffer.at) as usize;
            found.push(((from - at) as usize, Arc::clone(&buffer.bytes), inside));
            from = to;
        }
        found
    }

    /// The end of the valid bytes that begin at or before `at` and reach it.
    pub fn covered_to(&self, at: u64) -> u64 {
        let mut to = at;
        while let Some((_, &(stop, _))) = self.ranges.range(..=to).next_back() {
            if stop <= to {
                break;
            }
            to = stop;
        }
        to
    }

    /// The beginning of the valid bytes that end at or after `at` and reach it.
    pub fn covered_from(&self, at: u64) -> u64 {
        let mut from = at;
        while let Some((&start, &(stop, _))) = self.ranges.range(..from).next_back() {
            if stop < from {
                break;
            }
            from = start;
        }
        from
    }

    /// Valid bytes in `[from, to)`.
    pub fn bytes_in(&self, from: u64, to: u64) -> u64 {
        let first = self.ranges.range(..from).next_back().map_or(from, |(&start, _)| start);
        let inside = |(&start, &(stop, _)): (&u64, &(u64, u64))| {
            stop.min(to).saturating_sub(start.max(from))
        };
        self.ranges.range(first..to.max(first)).map(inside).sum()
    }

    /// Bytes of a buffer's run, and of the rest of it, that were asked for; None when it is not there
    /// as it was read.
    pub fn used(&self, id: u64) -> Option<(u64, u64)> {
        let buffer = self.buffers.get(&id)?;
        let whole = buffer.valid == buffer.bytes.len() as u64;
        whole.then(|| (buffer.used_of_run, buffer.used - buffer.used_of_run))
    }

    /// Takes what a request read at `at`, but for `spoiled` ranges. `run` of it is of one directory,
    /// where `used` bytes have been asked for. Returns its number.
    pub fn insert(
        &mut self,
        at: u64,
        bytes: Vec<u8>,
        spoiled: &[(u64, u64)],
        run: (u64, u64),
        used: u64,
    ) -> u64 {
        let end = at + bytes.len() as u64;
        self.cut(at, end);
        let id = self.next;
        self.next += 1;
        self.bytes += bytes.len() as u64;
        let (valid, bytes, used_of_run) = (end - at, Arc::new(bytes), used);
        let buffer = Buffer { bytes, at, valid, used, run, used_of_run, referenced: false };
        self.buffers.insert(id, buffer);
        // What was forgotten leaves its place in the order behind.
        if self.clock.len() > 2 * self.buffers.len() + 64 {
            self.clock.retain(|id| self.buffers.contains_key(id));
        }
        self.clock.push_back(id);
        self.ranges.insert(at, (end, id));
        for &(from, to) in spoiled {
            self.cut(from, to);
        }
        id
    }

    /// Forgets `[from, to)`; returns the buffers of which nothing is left.
    pub fn cut(&mut self, from: u64, to: u64) -> SmallVec<[Gone; 1]> {
        let mut gone = SmallVec::new();
        if from >= to {
            return gone;
        }
        let first = match self.ranges.range(..from).next_back() {
            Some((&start, &(stop, _))) if stop > from => start,
            _ => from,
        };
        let hit: SmallVec<[(u64, u64, u64); 4]> =
            self.ranges.range(first..to).map(|(&start, &(stop, id))| (start, stop, id)).collect();
        for (start, stop, id) in hit {
            self.ranges.remove(&start);
            if start < from {
                self.ranges.insert(start, (from, id));
            }
            if stop > to {
                self.ranges.insert(to, (stop, id));
            }
            let Some(buffer) = self.buffers.get_mut(&id) else { continue };
            buffer.valid -= stop.min(to) - start.max(from);
            if buffer.valid == 0 {
                gone.extend(self.drop_buffer(id));
            }
        }
        gone
    }

    fn drop_buffer(&mut self, id: u64) -> Option<Gone> {
        let buffer = self.buffers.remove(&id)?;
        let len = buffer.bytes.len() as u64;
        self.bytes -= len;
        Some(Gone { len, used: buffer.used.min(len) })
    }

    /// Drops the buffer that has gone unused the longest; None when there is none.
    pub fn evict(&mut self) -> Option<Gone> {
        loop {
            let id = self.clock.pop_front()?;
            let Some(buffer) = self.buffers.get_mut(&id) else { continue };
            if std::mem::take(&mut buffer.referenced) {
                self.clock.push_back(id);
                continue;
            }
            let (from, to) = (buffer.at, buffer.at + buffer.bytes.len() as u64);
            let mine: SmallVec<[u64; 4]> = self
                .ranges
                .range(from..to)
                .filter(|(_, (_, of))| *of == id)
                .map(|(&start, _)| start)
                .collect();
            for start in mine {
                self.ranges.remove(&start);
            }
            return self.drop_buffer(id);
        }
    }
}
