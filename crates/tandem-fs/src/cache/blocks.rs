//! The cache of metadata blocks: shared, copied when a block that a commit is writing changes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tandem_format::{ExtentNode, ImapBlock, Kind, Leaf, Table, Words};

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
            Body::Leaf(leaf) => leaf.payload().len() + 64,
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

struct Entry {
    block: Arc<Block>,
    mem: u32,
    dirty: bool,
    /// Frozen by a commit that has not yet given it an address.
    writing: bool,
    used: bool,
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
                entry.used = true;
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

    /// The block, to be changed; it becomes dirty. A block that a commit is writing is copied.
    pub fn get_mut(&mut self, key: Key) -> Res<&mut Block> {
        let Some(entry) = self.map.get_mut(&key) else {
            return Err(Fault::Miss(key));
        };
        entry.used = true;
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
        if !entry.dirty {
            entry.dirty = true;
            self.dirty.push(key);
            self.dirty_bytes += entry.mem as usize;
            self.dirty_tables += usize::from(key.id().is_none());
        }
        Ok(())
    }

    /// Adds a block that has been read.
    pub fn insert_clean(&mut self, key: Key, block: Block) {
        if !self.map.contains_key(&key) {
            self.add(key, block, false);
        }
    }

    /// Adds a new block, dirty.
    pub fn insert_new(&mut self, key: Key, block: Block) {
        self.remove(key);
        self.add(key, block, true);
    }

    fn add(&mut self, key: Key, block: Block, dirty: bool) {
        let mem = block.body.mem();
        self.bytes += mem;
        if dirty {
            self.dirty.push(key);
            self.dirty_bytes += mem;
            self.dirty_tables += usize::from(key.id().is_none());
        }
        let entry =
            Entry { block: Arc::new(block), mem: mem as u32, dirty, writing: false, used: true };
        self.map.insert(key, entry);
        self.ring.push_back(key);
        if self.ring.len() > 2 * self.map.len() + 1024 {
            let map = &self.map;
            self.ring.retain(|key| map.contains_key(key));
        }
    }

    /// Forgets a block, dirty or not.
    pub fn remove(&mut self, key: Key) {
        if let Some(entry) = self.map.remove(&key) {
            self.bytes -= entry.mem as usize;
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
        let mut steps = self.ring.len().min(SHRINK_STEPS);
        while self.bytes > limit && steps > 0 {
            steps -= 1;
            let Some(key) = self.ring.pop_front() else { break };
            let Some(entry) = self.map.get_mut(&key) else { continue };
            if entry.dirty || entry.writing || entry.used {
                entry.used = false;
                self.ring.push_back(key);
                continue;
            }
            self.remove(key);
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
