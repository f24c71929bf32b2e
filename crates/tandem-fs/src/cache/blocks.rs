//! The cache of metadata blocks: shared, copied when a block that a commit is writing changes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tandem_format::{ExtentNode, ImapBlock, Kind, Leaf, Table, Words};

use super::ahead::{Ahead, Brought};
use crate::error::{Fault, Res};

/// Names a block: one with a stable id, or one of the IFile's tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    const TABLE: u64 = 1 << 63;
    const INDEX: u64 = (1 << 52) - 1;

    /// The block with the given id.
    pub fn block(id: u64) -> Key {
        Key(id & !Key::TABLE)
    }

    /// Block `index` of level `level` of one of the IFile's tables (kinds 16 to 20).
    pub fn table(kind: Kind, level: u8, index: u64) -> Key {
        let tab = u64::from(kind as u8 & 7);
        Key(Key::TABLE | tab << 56 | u64::from(level & 15) << 52 | index & Key::INDEX)
    }

    /// The block id, when it has one.
    pub fn id(self) -> Option<u64> {
        (self.0 & Key::TABLE == 0).then_some(self.0)
    }

    /// Table, level and index of an IFile block.
    pub fn ifile(self) -> Option<(Kind, u8, u64)> {
        if self.0 & Key::TABLE == 0 {
            return None;
        }
        let kind = Kind::try_from(16 + (self.0 >> 56 & 7) as u8).ok()?;
        Some((kind, (self.0 >> 52 & 15) as u8, self.0 & Key::INDEX))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ifile() {
            Some((kind, level, index)) => write!(f, "{kind:?} block {index} of level {level}"),
            None => write!(f, "block {}", self.0),
        }
    }
}

/// A metadata block's contents, decoded and checked.
#[derive(Debug, Clone)]
pub enum Body {
    /// Directory leaf, or i-node block.
    Leaf(Leaf),
    /// Table of an extendible hash directory.
    Table(Table),
    /// Node of an extent tree.
    Extent(ExtentNode),
    /// Symbolic link or attribute bytes.
    Raw(Vec<u8>),
    /// Block map, or radix node of any table.
    Words(Words),
    /// I-node map.
    Imap(ImapBlock),
}

impl Body {
    fn mem(&self) -> usize {
        64 + match self {
            Body::Leaf(leaf) => leaf.size() + 64 + Leaf::PACKING,
            Body::Table(t) => t.entries.len() * 8 + 32,
            Body::Extent(_) | Body::Words(_) | Body::Imap(_) => 4096,
            Body::Raw(bytes) => bytes.len(),
        }
    }
}

/// A metadata block and what it says of itself.
#[derive(Debug, Clone)]
pub struct Block {
    /// Kind on the volume.
    pub kind: Kind,
    /// Owning i-node number, or 0.
    pub owner: u64,
    /// Logical position, by kind.
    pub index: u64,
    /// Level or depth, by kind.
    pub level: u8,
    /// Contents.
    pub body: Body,
}

/// Blocks that one call of [`BlockCache::shrink`] looks at.
const SHRINK_STEPS: usize = 64;

/// Prefetched blocks take up to this part of a full cache before they go first.
const AHEAD_SHARE: usize = 4;

/// How often a block that is missed again and again is spared.
const HOT_CHANCES: u8 = 3;

struct Entry {
    block: Arc<Block>,
    mem: u32,
    dirty: bool,
    /// Frozen by a commit that has not yet given it an address.
    writing: bool,
    /// How often it is spared when something has to go.
    chances: u8,
    /// It was missed when it had gone.
    hot: bool,
    /// Prefetched, and not asked for yet; such a block is clean.
    ahead: Option<Brought>,
}

impl Entry {
    fn most_chances(&self) -> u8 {
        if self.hot { HOT_CHANCES } else { 1 }
    }
}

/// All metadata blocks in memory. Clean ones may go at any time, dirty ones when a commit has
/// written them.
#[derive(Default)]
pub struct BlockCache {
    map: FxHashMap<Key, Entry>,
    ring: std::collections::VecDeque<Key>,
    bytes: usize,
    dirty_bytes: usize,
    dirty_tables: usize,
    dirty: Vec<Key>,
    /// Blocks that were prefetched.
    pub ahead: Ahead,
    /// Look-ups that found the block, and that did not.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
}

impl BlockCache {
    /// The block, or a fault that asks for it.
    pub fn get(&mut self, key: Key) -> Res<&Arc<Block>> {
        match self.map.get_mut(&key) {
            Some(entry) => {
                if let Some(brought) = entry.ahead.take() {
                    self.ahead.asked_for(key, brought, entry.mem as usize);
                    self.ring.push_back(key);
                }
                entry.chances = entry.most_chances();
                self.hits += 1;
                Ok(&entry.block)
            }
            None => {
                self.misses += 1;
                Err(Fault::Miss(key))
            }
        }
    }

    /// Whether the block is in memory.
    pub fn contains(&self, key: Key) -> bool {
        self.map.contains_key(&key)
    }

    /// The block if it is in memory; does not count as a use.
    pub fn peek(&self, key: Key) -> Option<&Arc<Block>> {
        self.map.get(&key).map(|entry| &entry.block)
    }

    /// The block, to be changed; it becomes dirty. A block that a commit is writing is copied.
    pub fn get_mut(&mut self, key: Key) -> Res<&mut Block> {
        let Some(entry) = self.map.get_mut(&key) else {
            return Err(Fault::Miss(key));
        };
        if let Some(brought) = entry.ahead.take() {
            self.ahead.asked_for(key, brought, entry.mem as usize);
            self.ring.push_back(key);
        }
        entry.chances = entry.most_chances();
        if !entry.dirty {
            entry.dirty = true;
            self.dirty.push(key);
            self.dirty_bytes += entry.mem as usize;
            self.dirty_tables += usize::from(key.id().is_none());
        }
        Ok(Arc::make_mut(&mut entry.block))
    }

    /// Marks a block dirty without changing it: it will be written to the log again.
    pub fn touch(&mut self, key: Key) -> Res<()> {
        let Some(entry) = self.map.get_mut(&key) else {
            return Err(Fault::Miss(key));
        };
        if entry.ahead.take().is_some() {
            self.ahead.drop(entry.mem as usize);
            self.ring.push_back(key);
        }
        if !entry.dirty {
            entry.dirty = true;
            self.dirty.push(key);
            self.dirty_bytes += entry.mem as usize;
            self.dirty_tables += usize::from(key.id().is_none());
        }
        Ok(())
    }

    /// Whether the block is in memory and differs from M.
    pub fn is_dirty(&self, key: Key) -> bool {
        self.map.get(&key).is_some_and(|entry| entry.dirty)
    }

    /// Adds a block that has been read.
    pub fn insert_clean(&mut self, key: Key, block: Block) {
        self.insert_read(key, block, false);
    }

    /// The same; one that had gone and is missed `again` stays longer from now on.
    pub fn insert_read(&mut self, key: Key, block: Block, again: bool) {
        if !self.map.contains_key(&key) {
            self.add(key, block, false, None);
            if let (true, Some(entry)) = (again, self.map.get_mut(&key)) {
                entry.hot = true;
            }
        }
    }

    /// Adds a block that was read because it lay beside another. Returns whether it was new.
    pub fn insert_ahead(&mut self, key: Key, block: Block, brought: Brought) -> bool {
        let new = !self.map.contains_key(&key);
        if new {
            self.add(key, block, false, Some(brought));
        }
        new
    }

    /// Adds a new block, dirty.
    pub fn insert_new(&mut self, key: Key, block: Block) {
        self.remove(key);
        self.add(key, block, true, None);
    }

    fn add(&mut self, key: Key, block: Block, dirty: bool, ahead: Option<Brought>) {
        let mem = block.body.mem();
        self.bytes += mem;
        if dirty {
            self.dirty.push(key);
            self.dirty_bytes += mem;
            self.dirty_tables += usize::from(key.id().is_none());
        }
        let chances = u8::from(ahead.is_none());
        match ahead {
            None => self.ring.push_back(key),
            Some(_) => self.ahead.add(key, mem),
        }
        let block = Arc::new(block);
        let mem = mem as u32;
        let entry = Entry { block, mem, dirty, writing: false, chances, hot: false, ahead };
        self.map.insert(key, entry);
        let (map, most) = (&self.map, 2 * self.map.len() + 1024);
        if self.ring.len() > most {
            self.ring.retain(|key| map.get(key).is_some_and(|e| e.ahead.is_none()));
        }
        self.ahead.compact(most, |key| map.get(&key).is_some_and(|e| e.ahead.is_some()));
    }

    /// Forgets a block, dirty or not.
    pub fn remove(&mut self, key: Key) {
        if let Some(entry) = self.map.remove(&key) {
            self.bytes -= entry.mem as usize;
            if entry.ahead.is_some() {
                self.ahead.drop(entry.mem as usize);
            }
            if entry.dirty {
                self.dirty_bytes -= entry.mem as usize;
                self.dirty_tables -= usize::from(key.id().is_none());
            }
        }
    }

    /// Takes all dirty blocks for which `take` holds as they are now; they count as being written
    /// until [`BlockCache::written`].
    pub fn freeze(&mut self, take: impl Fn(Key) -> bool) -> Vec<(Key, Arc<Block>)> {
        let mut frozen = Vec::with_capacity(self.dirty.len());
        let mut rest = Vec::new();
        for key in std::mem::take(&mut self.dirty) {
            let Some(entry) = self.map.get_mut(&key) else { continue };
            if !entry.dirty {
                continue;
            }
            if !take(key) {
                rest.push(key);
                continue;
            }
            entry.dirty = false;
            entry.writing = true;
            self.dirty_tables -= usize::from(key.id().is_none());
            self.dirty_bytes -= entry.mem as usize;
            let mem = entry.block.body.mem();
            self.bytes = self.bytes - entry.mem as usize + mem;
            entry.mem = mem as u32;
            frozen.push((key, Arc::clone(&entry.block)));
        }
        rest.append(&mut self.dirty);
        self.dirty = rest;
        frozen
    }

    /// The commit has given this block its address.
    pub fn written(&mut self, key: Key) {
        if let Some(entry) = self.map.get_mut(&key) {
            entry.writing = false;
        }
    }

    /// Lets clean blocks go while more than `limit` bytes are used (second chance). Looks at a few
    /// blocks only: it is called after every operation.
    pub fn shrink(&mut self, limit: usize) {
        let mut steps = (self.ring.len() + self.ahead.len()).min(SHRINK_STEPS);
        while self.bytes > limit && steps > 0 {
            steps -= 1;
            // What nobody has asked for must not push out what somebody has.
            if self.ahead.bytes() > limit / AHEAD_SHARE || self.ring.is_empty() {
                self.shrink_ahead();
                continue;
            }
            let Some(key) = self.ring.pop_front() else { break };
            let Some(entry) = self.map.get_mut(&key) else { continue };
            if entry.ahead.is_some() {
                continue;
            }
            if entry.dirty || entry.writing || entry.chances > 0 {
                entry.chances = entry.chances.saturating_sub(1);
                self.ring.push_back(key);
                continue;
            }
            self.remove(key);
        }
    }

    fn shrink_ahead(&mut self) {
        let Some(key) = self.ahead.oldest() else { return };
        if self.map.get(&key).is_some_and(|e| e.ahead.is_some()) {
            self.remove(key);
            self.ahead.wasted += 1;
        }
    }

    /// Bytes of memory used.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Dirty blocks of the IFile: only a checkpoint writes them.
    pub fn dirty_tables(&self) -> usize {
        self.dirty_tables
    }

    /// How many blocks are dirty, at most.
    pub fn dirty_len(&self) -> usize {
        self.dirty.len()
    }

    /// Bytes of it that are dirty.
    pub fn dirty_bytes(&self) -> usize {
        self.dirty_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> Block {
        let body = Body::Raw(vec![0; 936]);
        Block { kind: Kind::Symlink, owner: 0, index: 0, level: 0, body }
    }

    fn brought(request: u32) -> Brought {
        Brought { request, grains: 16 }
    }

    #[test]
    fn what_nobody_asked_for_does_not_push_out_what_somebody_did() {
        let mut cache = BlockCache::default();
        for id in 0..60 {
            cache.insert_clean(Key::block(id), raw());
        }
        for id in 60..1000 {
            assert!(cache.insert_ahead(Key::block(id), raw(), brought(1)));
            cache.shrink(100_000);
        }
        assert!((0..60).all(|id| cache.contains(Key::block(id))));
        assert!(cache.bytes() <= 100_000 && cache.ahead.wasted > 850);
    }

    #[test]
    fn the_first_use_of_a_prefetched_block_counts_once() {
        let mut cache = BlockCache::default();
        cache.ahead.tracked = true;
        for id in [7, 8, 9] {
            cache.insert_ahead(Key::block(id), raw(), brought(id as u32));
        }
        assert!(!cache.insert_ahead(Key::block(7), raw(), brought(9)));
        for id in [8, 7, 8] {
            cache.get(Key::block(id)).unwrap();
        }
        cache.touch(Key::block(9)).unwrap();
        assert_eq!((cache.ahead.used, cache.ahead.wasted), (2, 0));
        let order: Vec<_> = cache.ahead.take_uses(8).iter().map(|u| u.key).collect();
        assert_eq!(order, [Key::block(8), Key::block(7)]);
        cache.remove(Key::block(9));
        assert_eq!((cache.ahead.bytes(), cache.dirty_bytes()), (0, 0));
    }
}
