//! A file's contents in the model: sparse, cheap to copy.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::env::mix;

const CHUNK: u64 = 4096;

type Chunk = [u8; CHUNK as usize];

/// Bytes `[0, size)`; what no chunk has is zero.
#[derive(Clone, Default)]
pub struct Content {
    pub size: u64,
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

/// The bytes that operation `tag` writes at `off`: no two operations write the same ones.
pub fn pattern(tag: u64, off: u64, len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 8);
    let mut at = off / 8;
    while out.len() < len + 8 {
        out.extend_from_slice(&mix(tag.wrapping_mul(0x1_0000_0001) ^ at << 20).to_le_bytes());
        at += 1;
    }
    let skip = (off % 8) as usize;
    out[skip..skip + len].to_vec()
}

impl Content {
    fn parts(from: u64, to: u64) -> impl Iterator<Item = (u64, usize, usize)> {
        (from / CHUNK..to.div_ceil(CHUNK)).filter_map(move |n| {
            let (a, b) = (from.max(n * CHUNK), to.min((n + 1) * CHUNK));
            (a < b).then(|| (n, (a - n * CHUNK) as usize, (b - n * CHUNK) as usize))
        })
    }

    pub fn write(&mut self, off: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = off + data.len() as u64;
        for (n, a, b) in Content::parts(off, end) {
            let chunk = self.chunks.entry(n).or_insert_with(|| Arc::new([0; CHUNK as usize]));
            let at = (n * CHUNK + a as u64 - off) as usize;
            Arc::make_mut(chunk)[a..b].copy_from_slice(&data[at..at + b - a]);
        }
        self.size = self.size.max(end);
    }

    /// Makes `[from, to)` zero, whatever the size.
    pub fn zero(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let touched: Vec<u64> =
            self.chunks.range(from / CHUNK..to.div_ceil(CHUNK)).map(|(&n, _)| n).collect();
        for n in touched {
            let (a, b) = (from.max(n * CHUNK), to.min((n + 1) * CHUNK));
            if b - a == CHUNK {
                self.chunks.remove(&n);
            } else if let Some(chunk) = self.chunks.get_mut(&n) {
                Arc::make_mut(chunk)[(a - n * CHUNK) as usize..(b - n * CHUNK) as usize].fill(0);
            }
        }
    }

    pub fn truncate(&mut self, size: u64) {
        if size < self.size {
            self.zero(size, self.size);
        }
        self.size = size;
    }

    /// The bytes at `off`, `len` of them or up to the end.
    pub fn read(&self, off: u64, len: usize) -> Vec<u8> {
        let end = self.size.min(off.saturating_add(len as u64));
        let mut out = vec![0; end.saturating_sub(off) as usize];
        if off < end {
            for (n, a, b) in Content::parts(off, end) {
                if let Some(chunk) = self.chunks.get(&n) {
                    let at = (n * CHUNK + a as u64 - off) as usize;
                    out[at..at + b - a].copy_from_slice(&chunk[a..b]);
                }
            }
        }
        out
    }

    /// The first byte at or after `off` that is not zero.
    pub fn data_after(&self, off: u64) -> Option<u64> {
        self.chunks.range(off / CHUNK..).find_map(|(&n, chunk)| {
            let from = off.saturating_sub(n * CHUNK).min(CHUNK) as usize;
            let at = chunk[from..].iter().position(|&b| b != 0)?;
            Some(n * CHUNK + (from + at) as u64).filter(|&at| at < self.size)
        })
    }

    /// Stretches worth comparing: everything when the file is small; else what has data, with
    /// some of what is around it, the beginning and the end.
    pub fn stretches(&self) -> Vec<(u64, usize)> {
        const SMALL: u64 = 4 << 20;
        if self.size <= SMALL {
            return vec![(0, self.size as usize)];
        }
        let mut spans: Vec<(u64, u64)> = vec![(0, 8192), (self.size - 8192, self.size)];
        for &n in self.chunks.keys() {
            let from = (n * CHUNK).saturating_sub(8192);
            let to = (n * CHUNK).saturating_add(3 * CHUNK).min(self.size);
            match spans.last_mut() {
                Some(last) if last.0 <= from && last.1 >= from => last.1 = last.1.max(to),
                _ => spans.push((from, to)),
            }
        }
        spans.into_iter().filter(|s| s.0 < s.1).map(|(a, b)| (a, (b - a) as usize)).collect()
    }
}
