//! The contents of a device: sparse, and shared between copies.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

const CHUNK: usize = 4096;

/// What was never written, or was discarded, reads as this.
pub const GARBAGE: u8 = 0xa7;

#[derive(Clone)]
struct Chunk {
    bytes: [u8; CHUNK],
    /// Hash of the bytes, once somebody has asked; 0 when all are garbage.
    hash: OnceLock<u64>,
}

impl Chunk {
    fn hash(&self) -> u64 {
        *self.hash.get_or_init(|| match self.bytes.iter().all(|&b| b == GARBAGE) {
            true => 0,
            false => {
                let mut hasher = DefaultHasher::new();
                hasher.write(&self.bytes);
                hasher.finish().max(1)
            }
        })
    }
}

/// Bytes of a device of fixed size. A copy costs a reference for each 4 KiB that were written, and
/// shares them until one side changes.
#[derive(Clone)]
pub struct Store {
    size: u64,
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

impl Store {
    /// `size` bytes of garbage.
    pub fn new(size: u64) -> Store {
        Store { size, chunks: BTreeMap::new() }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `buf` from byte `off`; what is beyond the end reads as garbage.
    pub fn read(&self, buf: &mut [u8], off: u64) {
        pieces(off, buf.len(), |index, at, from, to| match self.chunks.get(&index) {
            Some(chunk) => buf[from..to].copy_from_slice(&chunk.bytes[at..at + to - from]),
            None => buf[from..to].fill(GARBAGE),
        });
    }

    /// Writes `data` at byte `off`, which must be within the size.
    pub fn write(&mut self, data: &[u8], off: u64) {
        pieces(off, data.len(), |index, at, from, to| {
            self.chunk(index)[at..at + to - from].copy_from_slice(&data[from..to]);
        });
    }

    /// Makes `len` bytes at `off` garbage.
    pub fn discard(&mut self, off: u64, len: u64) {
        let (first, end) = (off.div_ceil(CHUNK as u64), (off + len) / CHUNK as u64);
        if first < end {
            let mut rest = self.chunks.split_off(&first);
            self.chunks.append(&mut rest.split_off(&end));
            self.spoil(off, (first * CHUNK as u64 - off) as usize);
            self.spoil(end * CHUNK as u64, (off + len - end * CHUNK as u64) as usize);
        } else {
            self.spoil(off, len as usize);
        }
    }

    fn spoil(&mut self, off: u64, len: usize) {
        pieces(off, len, |index, at, from, to| {
            if self.chunks.contains_key(&index) {
                self.chunk(index)[at..at + to - from].fill(GARBAGE);
            }
        });
    }

    fn chunk(&mut self, index: u64) -> &mut [u8; CHUNK] {
        let new = || Arc::new(Chunk { bytes: [GARBAGE; CHUNK], hash: OnceLock::new() });
        let chunk = Arc::make_mut(self.chunks.entry(index).or_insert_with(new));
        chunk.hash = OnceLock::new();
        &mut chunk.bytes
    }

    /// Adds the contents to a hash; equal contents add the same, however they came about.
    pub fn fingerprint(&self, hasher: &mut impl Hasher) {
        for (index, chunk) in &self.chunks {
            let hash = chunk.hash();
            if hash != 0 {
                (index, hash).hash(hasher);
            }
        }
        self.size.hash(hasher);
    }
}

/// Cuts a range at chunks: number of the chunk, byte in it, bytes from and to of the range.
fn pieces(off: u64, len: usize, mut f: impl FnMut(u64, usize, usize, usize)) {
    let mut done = 0;
    while done < len {
        let (index, at) =
            ((off + done as u64) / CHUNK as u64, ((off + done as u64) % CHUNK as u64) as usize);
        let to = len.min(done + CHUNK - at);
        f(index, at, done, to);
        done = to;
    }
}
