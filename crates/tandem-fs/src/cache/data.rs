//! File contents that are not yet where the metadata says: extent-based, as in the Spad VFS
//! (SpadFS §II.C): ranges of bytes, never per-block state, so that small data blocks cost nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_format::Extent;

use crate::sync::Mutex;

/// A piece grows to at most this many bytes, so that one write never copies much.
const PIECE_MAX: usize = 1 << 20;

/// Bytes in memory, shared with a flush that is writing them.
#[derive(Debug, Clone)]
pub struct Piece {
    bytes: Arc<Vec<u8>>,
    from: usize,
    len: usize,
}

impl Piece {
    fn new(bytes: Vec<u8>) -> Piece {
        Piece { len: bytes.len(), from: 0, bytes: Arc::new(bytes) }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.from + self.len]
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    fn cut(&self, from: usize, to: usize) -> Piece {
        Piece { bytes: Arc::clone(&self.bytes), from: self.from + from, len: to - from }
    }

    /// Appends when nobody else sees the bytes and nothing follows them in the buffer.
    fn append(&mut self, data: &[u8]) -> bool {
        if self.len + data.len() > PIECE_MAX || self.from + self.len != self.bytes.len() {
            return false;
        }
        let Some(bytes) = Arc::get_mut(&mut self.bytes) else { return false };
        if bytes.capacity() < bytes.len() + data.len() {
            let want = (bytes.len() * 2).clamp(bytes.len() + data.len(), PIECE_MAX);
            bytes.reserve_exact(want - bytes.len());
        }
        bytes.extend_from_slice(data);
        self.len += data.len();
        true
    }

    fn overwrite(&mut self, at: usize, data: &[u8]) -> bool {
        let from = self.from + at;
        match Arc::get_mut(&mut self.bytes) {
            Some(bytes) => {
                bytes[from..from + data.len()].copy_from_slice(data);
                true
            }
            None => false,
        }
    }
}

/// Non-overlapping pieces by byte offset.
#[derive(Debug, Default)]
pub struct Layer {
    map: BTreeMap<u64, Piece>,
    bytes: u64,
}

impl Layer {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Writes over whatever is there.
    fn write(&mut self, off: u64, data: &[u8], owned: Option<Vec<u8>>) {
        let end = off + data.len() as u64;
        if let Some((&start, piece)) = self.map.range_mut(..=off).next_back() {
            let stop = start + piece.len();
            if start <= off && end <= stop && piece.overwrite((off - start) as usize, data) {
                return;
            }
            if stop == off {
                let free_after = self.map.range(off..end).next().is_none();
                let (_, piece) =
                    self.map.range_mut(..=off).next_back().unwrap_or_else(|| unreachable!());
                if free_after && piece.append(data) {
                    self.bytes += data.len() as u64;
                    return;
                }
            }
        }
        self.remove(off, end);
        self.bytes += data.len() as u64;
        self.map.insert(off, Piece::new(owned.unwrap_or_else(|| data.to_vec())));
    }

    /// Removes the bytes in `[from, to)`; returns how many there were.
    fn remove(&mut self, from: u64, to: u64) -> u64 {
        let before = self.bytes;
        if let Some((&start, piece)) = self.map.range(..from).next_back() {
            let stop = start + piece.len();
            if stop > from {
                let piece = piece.clone();
                self.map.insert(start, piece.cut(0, (from - start) as usize));
                self.bytes -= stop - from;
                if stop > to {
                    self.map.insert(to, piece.cut((to - start) as usize, piece.len));
                    self.bytes += stop - to;
                }
            }
        }
        while let Some((&start, piece)) = self.map.range(from..to).next() {
            let stop = start + piece.len();
            let piece = piece.clone();
            self.map.remove(&start);
            self.bytes -= piece.len();
            if stop > to {
                self.map.insert(to, piece.cut((to - start) as usize, piece.len));
                self.bytes += stop - to;
            }
        }
        before - self.bytes
    }

    /// Pieces that touch `[from, to)`, whole.
    pub fn touching(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &Piece)> {
        let first = match self.map.range(..from).next_back() {
            Some((&start, piece)) if start + piece.len() > from => start,
            _ => from,
        };
        self.map.range(first..to).map(|(&off, piece)| (off, piece))
    }

    fn copy_to(&self, off: u64, buf: &mut [u8], covered: &mut Vec<(u64, u64)>) {
        let end = off + buf.len() as u64;
        for (start, piece) in self.touching(off, end) {
            let from = start.max(off);
            let to = (start + piece.len()).min(end);
            let src = &piece.as_slice()[(from - start) as usize..(to - start) as usize];
            buf[(from - off) as usize..(to - off) as usize].copy_from_slice(src);
            covered.push((from, to));
        }
    }
}

/// An extent whose data a flush has placed, on its way into the metadata.
#[derive(Debug, Clone, Copy)]
pub struct Staged {
    /// Where the data lies.
    pub extent: Extent,
    /// The metadata knows the extent already, as unwritten.
    pub convert: bool,
}

/// Extents on their way, by first block; they do not overlap.
#[derive(Debug, Default)]
pub struct Staging {
    map: BTreeMap<u64, Staged>,
}

impl Staging {
    /// Adds an extent.
    pub fn insert(&mut self, staged: Staged) {
        self.map.insert(staged.extent.logical, staged);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The last one.
    pub fn last(&self) -> Option<Staged> {
        self.map.last_key_value().map(|(_, s)| *s)
    }

    /// Removes the last one.
    pub fn pop(&mut self) {
        self.map.pop_last();
    }

    /// Takes all of another's, leaving it empty.
    pub fn append(&mut self, other: &mut Staging) {
        self.map.append(&mut other.map);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Staged> {
        self.map.values()
    }

    /// Those that touch blocks `[from, to)`, whole, in order.
    pub fn touching(&self, from: u64, to: u64) -> impl Iterator<Item = &Staged> {
        let first = match self.map.range(..=from).next_back() {
            Some((&at, s)) if crate::extents::end(&s.extent) > from => at,
            _ => from,
        };
        self.map.range(first..to.max(first)).map(|(_, s)| s)
    }

    /// Removes blocks `[from, to)`; returns what was there.
    pub fn cut(&mut self, from: u64, to: u64) -> Vec<Staged> {
        let hit: Vec<Staged> = self.touching(from, to).copied().collect();
        let mut gone = Vec::with_capacity(hit.len());
        for s in hit {
            let Some(extent) = crate::extents::clip(&s.extent, from, to) else { continue };
            self.map.remove(&s.extent.logical);
            for rest in crate::extents::minus(&s.extent, &extent) {
                self.insert(Staged { extent: rest, ..s });
            }
            gone.push(Staged { extent, ..s });
        }
        gone
    }
}

/// The layers of one file, newest first: `dirty`, `flushing`; below them the extents `placing`
/// (being written), `fresh` (written) and `ready` (written and flushed), which no metadata knows
/// yet.
#[derive(Debug, Default)]
pub struct Layers {
    /// Written by the user, nowhere else.
    pub dirty: Layer,
    /// Taken by a flush that is writing it.
    pub flushing: Layer,
    /// Extents that a flush is filling: what `flushing` does not have of them reads as zeros.
    pub placing: Staging,
    /// Extents whose data a flush has written since the last barrier of the data device.
    pub fresh: Staging,
    /// Extents whose data is durable.
    pub ready: Staging,
    /// File size when the newest flush took its bytes, lowered by truncation.
    pub flush_size: u64,
    /// Data blocks promised to dirty bytes that have none yet.
    pub reserved: u64,
    /// In the list of files with dirty bytes.
    pub queued: bool,
    /// In the list of files with extents to bring into the metadata.
    pub staged: bool,
}

impl Layers {
    /// Writes into the dirty layer. `owned` is `data` in a buffer that may be kept.
    pub fn write(&mut self, off: u64, data: &[u8], owned: Option<Vec<u8>>) {
        self.dirty.write(off, data, owned);
    }

    /// Drops the bytes in `[from, to)` from both layers; returns how many of them were dirty.
    pub fn cut(&mut self, from: u64, to: u64) -> u64 {
        self.flushing.remove(from, to);
        self.dirty.remove(from, to)
    }

    /// Offsets and lengths of the dirty pieces, in order.
    pub fn dirty_ranges(&self) -> Vec<(u64, u64)> {
        self.dirty.map.iter().map(|(&off, p)| (off, p.len())).collect()
    }

    /// Extents on D that no metadata knows yet, cut to blocks `[from, to)`.
    pub fn staged_in(&self, from: u64, to: u64) -> impl Iterator<Item = Extent> {
        self.fresh
            .touching(from, to)
            .chain(self.ready.touching(from, to))
            .filter_map(move |s| crate::extents::clip(&s.extent, from, to))
    }

    /// Whether nothing is in memory that the metadata and D do not have.
    pub fn is_settled(&self) -> bool {
        self.dirty.is_empty()
            && self.flushing.is_empty()
            && self.placing.is_empty()
            && self.fresh.is_empty()
            && self.ready.is_empty()
    }

    /// Moves all dirty bytes to the flushing layer and returns them, by offset.
    pub fn take_dirty(&mut self, size: u64) -> Vec<(u64, Piece)> {
        let dirty = std::mem::take(&mut self.dirty);
        self.flush_size = size;
        let mut taken = Vec::with_capacity(dirty.map.len());
        for (off, piece) in dirty.map {
            self.flushing.remove(off, off + piece.len());
            self.flushing.bytes += piece.len();
            self.flushing.map.insert(off, piece.clone());
            taken.push((off, piece));
        }
        taken
    }

    /// What a flush took is on D, where the extents say: reads find it there.
    pub fn written(&mut self) {
        self.flushing = Layer::default();
        self.fresh.append(&mut self.placing);
    }

    /// Everything below the dirty layer is in the metadata now.
    pub fn settle(&mut self) {
        self.flushing = Layer::default();
        self.ready = Staging::default();
    }

    /// Copies what memory has of `[off, off + buf.len())`; returns the covered ranges, sorted and
    /// disjoint.
    pub fn copy_to(&self, off: u64, buf: &mut [u8]) -> Vec<(u64, u64)> {
        let mut covered = Vec::new();
        self.flushing.copy_to(off, buf, &mut covered);
        self.dirty.copy_to(off, buf, &mut covered);
        if covered.len() > 1 {
            covered.sort_unstable();
            let mut merged: Vec<(u64, u64)> = Vec::with_capacity(covered.len());
            for (from, to) in covered {
                match merged.last_mut() {
                    Some(last) if last.1 >= from => last.1 = last.1.max(to),
                    _ => merged.push((from, to)),
                }
            }
            return merged;
        }
        covered
    }

    /// Block ranges `[first, end)` within `[from, to)` blocks that no byte in memory touches and
    /// no unsettled extent maps.
    pub fn uncovered(&self, from: u64, to: u64, block: u64) -> Vec<(u64, u64)> {
        let mut marks: Vec<(u64, u64)> = Vec::new();
        let (lo, hi) = (from.saturating_mul(block), to.saturating_mul(block));
        for layer in [&self.dirty, &self.flushing] {
            for (off, piece) in layer.touching(lo, hi) {
                marks.push((off / block, (off + piece.len()).div_ceil(block)));
            }
        }
        for staging in [&self.placing, &self.fresh, &self.ready] {
            for Staged { extent: e, .. } in staging.touching(from, to) {
                marks.push((e.logical, e.logical + u64::from(e.len)));
            }
        }
        marks.sort_unstable();
        let mut gaps = Vec::new();
        let mut at = from;
        for (start, end) in marks {
            if start >= to {
                break;
            }
            if start > at {
                gaps.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }
}

/// The layers behind their lock. Taken under the state's lock, or alone; never the other way round.
#[derive(Debug, Default)]
pub struct FileData {
    /// The layers.
    pub layers: Mutex<Layers>,
}
