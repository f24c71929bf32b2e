//! The block map as recovered, a window of it at a time when it is too large for the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tandem_format::{FANOUT, Kind, Loc};

use super::blocks::check_address;
use super::report::{Findings, ProblemKind};
use super::tables::Tables;
use crate::cache::{Block, Body};
use crate::error::Fault;
use crate::volume::Core;

/// One block of the block map.
struct MapBlock {
    index: u64,
    words: Box<[u64]>,
    /// One bit for each id that has been met in the log.
    seen: [AtomicU64; FANOUT.div_ceil(64)],
}

/// A part of the block map.
#[derive(Default)]
pub(super) struct Window {
    blocks: Vec<MapBlock>,
}

/// Which blocks the block map has, and what the roll-forward has changed.
pub(super) struct BlockMap {
    indices: Vec<u64>,
    per_window: usize,
    /// Blocks of the i-node map that differ from M.
    pub inodes: Vec<(u64, Arc<Block>)>,
}

impl BlockMap {
    /// The map of a recovered volume; a window takes at most `memory` bytes.
    pub fn new(core: &Core, tables: &Tables, memory: u64) -> BlockMap {
        // Blocks taken so stay in the cache.
        let take = |wanted: Kind| {
            let changed = core
                .state
                .lock()
                .cache
                .freeze(|key| matches!(key.ifile(), Some((kind, 0, _)) if kind == wanted));
            changed.into_iter().filter_map(|(key, block)| Some((key.ifile()?.2, block)))
        };
        let mut inodes: Vec<(u64, Arc<Block>)> = take(Kind::Imap).collect();
        inodes.sort_unstable_by_key(|(index, _)| *index);
        let mut indices: Vec<u64> = take(Kind::Map).map(|(index, _)| index).collect();
        indices.extend(tables.lowest(Kind::Map).map(|(index, _)| index));
        indices.sort_unstable();
        indices.dedup();
        let each = size_of::<MapBlock>() + FANOUT * size_of::<u64>();
        let per_window = (memory as usize / each).max(1);
        BlockMap { indices, per_window, inodes }
    }

    /// How many windows the map has.
    pub fn windows(&self) -> usize {
        self.indices.len().div_ceil(self.per_window)
    }

    /// Reads a window. Blocks that cannot be read are left out; addresses that cannot be are
    /// dropped.
    pub fn window(&self, core: &Core, tables: &Tables, n: usize, findings: &Findings) -> Window {
        let from = n * self.per_window;
        let to = (from + self.per_window).min(self.indices.len());
        let mut blocks = Vec::with_capacity(to - from);
        for &index in &self.indices[from..to] {
            let words = core.run(|st| {
                let key = st.map_present(index * FANOUT as u64)?;
                match &st.cache.get(key)?.body {
                    Body::Words(words) => Ok(words.0.clone()),
                    _ => Err(Fault::Fail(crate::Error::Invalid(String::new()))),
                }
            });
            match words {
                Ok(mut words) => {
                    drop_bad_addresses(core, index, &mut words, findings);
                    let seen = std::array::from_fn(|_| AtomicU64::new(0));
                    blocks.push(MapBlock { index, words: words.into_boxed_slice(), seen });
                }
                // The block is met again, and reported, when the log is read.
                Err(_) => tables.lose(Kind::Map, 0, index),
            }
        }
        Window { blocks }
    }
}

fn drop_bad_addresses(core: &Core, index: u64, words: &mut [u64], findings: &Findings) {
    for (slot, word) in words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
        let id = index * FANOUT as u64 + slot as u64;
        let checked = match id {
            0 => Err("no block has this number".into()),
            _ => check_address(&core.geo, Loc::from_raw(*word)),
        };
        if let Err(detail) = checked {
            let what = format!("{}: block {id} in the block map", core.meta.name());
            findings.add(ProblemKind::Address, what, detail);
            *word = 0;
        }
    }
}

impl Window {
    fn block(&self, index: u64) -> Option<&MapBlock> {
        let first = self.blocks.first()?.index;
        let guess = usize::try_from(index.checked_sub(first)?).ok()?;
        match self.blocks.get(guess) {
            Some(block) if block.index == index => Some(block),
            _ => {
                let at = self.blocks.binary_search_by_key(&index, |b| b.index).ok()?;
                self.blocks.get(at)
            }
        }
    }

    /// The address of a block, if the window has one.
    pub fn get(&self, id: u64) -> Option<Loc> {
        let word = self.block(id / FANOUT as u64)?.words[(id % FANOUT as u64) as usize];
        (word != 0).then_some(Loc::from_raw(word))
    }

    /// Whether a block lives at an address, and is met there for the first time.
    pub fn meet(&self, id: u64, loc: Loc) -> bool {
        let Some(block) = self.block(id / FANOUT as u64) else { return false };
        let slot = (id % FANOUT as u64) as usize;
        let bit = 1u64 << (slot % 64);
        block.words[slot] == loc.raw()
            && block.seen[slot / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Whether a block has been met.
    fn met(&self, block: &MapBlock, slot: usize) -> bool {
        block.seen[slot / 64].load(Ordering::Relaxed) >> (slot % 64) & 1 == 1
    }

    /// Forgets which blocks have been met.
    pub fn forget_seen(&self) {
        for word in self.blocks.iter().flat_map(|block| &block.seen) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// All blocks with their addresses, and whether they have been met.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Loc, bool)> + '_ {
        self.blocks.iter().flat_map(move |block| {
            let used = block.words.iter().enumerate().filter(|(_, word)| **word != 0);
            used.map(move |(slot, &word)| {
                let id = block.index * FANOUT as u64 + slot as u64;
                (id, Loc::from_raw(word), self.met(block, slot))
            })
        })
    }
}
